"""What goes wrong inside an environment, or on the way into it, is told with its place."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.envs import make_env
from rlg.errors import EnvironmentFailure
from tests.envs.plain import Crashing, register_plain


@pytest.fixture(autouse=True)
def _plain_environments():
    register_plain()


def failure(call, *args):
    with pytest.raises(EnvironmentFailure) as caught:
        call(*args)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_crash_in_a_step_names_environment_episode_and_step():
    env = make_env("plain/Crashing-v0", 3)
    env.reset()
    for _ in range(4 + 2):
        env.step(np.zeros(3, int))
    error = failure(env.step, np.zeros(3, int))
    assert str(error) == (
        "plain/Crashing-v0: environment 0, episode 1, step 3: step raised ZeroDivisionError: "
        "division by zero"
    )
    assert isinstance(error.__cause__, ZeroDivisionError)


def test_a_crash_in_a_reset_names_it_too():
    env = make_env("plain/Crashing-v0", 2, in_reset=True)
    env.reset()
    for _ in range(3):
        env.step(np.zeros(2, int))
    error = failure(env.step, np.zeros(2, int))
    assert str(error) == (
        "plain/Crashing-v0: environment 0, episode 1, step 0: reset raised OSError: no level file"
    )
    assert isinstance(error.__cause__, OSError)


def test_an_observation_that_does_not_fit_its_space_is_refused():
    error = failure(make_env("plain/Misshapen-v0").reset)
    assert "has shape (1,) and dtype float32, but its space says (4,) and float32" in str(error)


def test_nan_actions_are_refused():
    env = make_env("pendulum", 3)
    env.reset()
    error = failure(env.step, np.array([[0.0], [np.nan], [0.0]], np.float32))
    assert str(error).startswith("pendulum: actions of environment 1 are [nan]; NaN comes from")


@pytest.mark.parametrize(
    ("name", "num_envs"), [("cartpole", 2), ("cartpole", 8), ("pong", 2), ("acrobot", 2)]
)
def test_actions_that_do_not_exist_are_refused(name, num_envs):
    """ALE itself would hang on them, and Acrobot take -1 for the last one."""
    with make_env(name, num_envs) as env:
        env.reset()
        for wrong in (-1, env.action_space.num_categories):
            actions = np.zeros(num_envs, np.int64)
            actions[1] = wrong
            error = failure(env.step, actions)
            assert str(error).startswith(f"{name}: actions of environment 1 are {wrong}; give Box(")
        assert env.step(np.zeros(num_envs, np.int64)).rewards.shape == (num_envs,)


@pytest.mark.parametrize(("name", "num_envs"), [("cartpole", 2), ("cartpole", 8)])
def test_actions_of_another_shape_or_kind_are_refused(name, num_envs):
    env = make_env(name, num_envs)
    env.reset()
    assert "have shape (5,); give" in str(failure(env.step, np.zeros(5, int)))
    assert "are float32; give integers" in str(failure(env.step, np.zeros(num_envs, np.float32)))


def test_a_reward_that_is_not_a_number_names_environment_and_step(monkeypatch):
    env = make_env("plain/Crashing-v0", 2)
    env.reset()
    answer = (np.zeros(2, np.float32), "much", False, False, {})
    monkeypatch.setattr(Crashing, "step", lambda self, action: answer)
    assert str(failure(env.step, np.zeros(2, int))) == (
        "plain/Crashing-v0: environment 0, episode 0, step 1: step raised ValueError: could not "
        "convert string to float: 'much'"
    )


def test_a_process_of_an_environment_that_ends_is_the_failure_and_closing_is_quiet():
    env = make_env("plain/Crashing-v0", 2, vectorization="async")
    env.reset()
    for process in env._native.processes:
        process.kill()
        process.join()
    error = str(failure(env.step, np.zeros(2, int)))
    assert error.startswith("plain/Crashing-v0: step of 2 environments in episodes [0, 0] at ")
    assert error.endswith(" raised EOFError: one of its processes has ended")
    env.close()
    assert env._native.closed  # so that gymnasium doesn't wait for an answer at exit
