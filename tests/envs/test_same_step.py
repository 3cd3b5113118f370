"""Episodes that end begin again in the same step: against plain environments of gymnasium."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from rlg.envs import episode_seed, make_env
from rlg.envs.loop import LoopEnv
from tests.envs.runs import random_actions


def play_plain(env_id, row, actions, seed, **options):
    """One environment, reset by hand: first observation, then one tuple per step."""
    env = gymnasium.make(env_id, **options)
    episode, total, length = 0, 0.0, 0
    first, _ = env.reset(seed=episode_seed(seed, row, 0))
    rows = []
    for action in actions:
        last, reward, terminal, truncated, _ = env.step(action[row])
        total, length, observation, statistics = total + reward, length + 1, last, None
        if terminal or truncated:
            statistics, episode = (total, length), episode + 1
            observation, _ = env.reset(seed=episode_seed(seed, row, episode))
            total, length = 0.0, 0
        rows.append((observation, reward, terminal, truncated and not terminal, last, statistics))
    env.close()
    return first, rows


@pytest.mark.parametrize(
    ("name", "num_envs", "options", "ends"),
    [
        ("CartPole-v1", 3, {}, {"terminal"}),
        ("CartPole-v1", 9, {}, {"terminal"}),
        ("CartPole-v1", 3, {"max_episode_steps": 15}, {"terminal", "truncation"}),
        (
            "CartPole-v1",
            9,
            {"max_episode_steps": 15, "sutton_barto_reward": True},
            {"terminal", "truncation"},
        ),
        ("Pendulum-v1", 2, {"max_episode_steps": 40}, {"truncation"}),
    ],
)
def test_a_step_is_that_of_plain_environments_reset_at_once(name, num_envs, options, ends):
    env = make_env(name, num_envs, seed=5, **options)
    actions = random_actions(env, 130)
    first = env.reset()
    steps = [env.step(chosen) for chosen in actions]
    kinds = set()
    for row in range(num_envs):
        plain_first, plain = play_plain(name, row, actions, 5, **options)
        assert np.array_equal(first[row], plain_first)
        for step, (observation, reward, terminal, truncated, last, ended) in zip(
            steps, plain, strict=True
        ):
            assert np.array_equal(step.observations[row], observation)
            assert step.rewards[row] == np.float32(reward)
            assert (step.terminals[row], step.truncations[row]) == (terminal, truncated)
            assert np.array_equal(step.final_observations[row], last)
            assert (row in step.ended) == (ended is not None)
            if ended:
                place = step.ended.tolist().index(row)
                assert (step.episode_returns[place], step.episode_lengths[place]) == ended
                kinds.add("terminal" if terminal else "truncation")
    assert kinds == ends


def test_a_limit_truncates_where_the_pole_still_stands():
    env = make_env("cartpole", 9, max_episode_steps=5)
    env.reset()
    for _ in range(4):
        step = env.step(np.arange(9) % 2)
        assert not step.terminals.any()
        assert not step.truncations.any()
    step = env.step(np.arange(9) % 2)
    assert step.truncations.all()
    assert not step.terminals.any()
    assert step.episode_lengths.tolist() == [5] * 9
    assert step.episode_returns.tolist() == [5.0] * 9
    assert np.abs(step.observations).max() < 0.05
    assert np.abs(step.final_observations).max() > 0.1


def test_final_observations_of_running_episodes_are_their_observations():
    env = make_env("cartpole", 4)
    env.reset()
    for chosen in random_actions(env, 100):
        step = env.step(chosen)
        running = np.setdiff1d(np.arange(4), step.ended)
        assert np.array_equal(step.observations[running], step.final_observations[running])
        if not step.ended.size:
            assert step.final_observations is step.observations


@pytest.mark.parametrize(("name", "num_envs"), [("cartpole", 3), ("cartpole", 8), ("counter", 2)])
def test_dtypes_and_shapes_are_those_of_the_contract(name, num_envs):
    env = make_env(name, num_envs)
    assert env.observation_space.contains(env.reset())
    assert env.frame_skip == 1
    for chosen in random_actions(env, 30):
        step = env.step(chosen)
        assert step.rewards.dtype == np.float32
        assert step.terminals.dtype == step.truncations.dtype == np.bool_
        assert step.rewards.shape == step.terminals.shape == step.truncations.shape == (num_envs,)
        assert step.episode_returns.dtype == np.float64
        assert step.episode_lengths.dtype == step.ended.dtype == np.int64
        assert step.episode_returns.shape == step.episode_lengths.shape == step.ended.shape
        assert env.observation_space.contains(step.observations)
        assert step.observations.flags.c_contiguous


@pytest.mark.parametrize(("name", "num_envs"), [("cartpole", 2), ("cartpole", 8), ("pendulum", 2)])
def test_returned_arrays_are_not_written_to_again(name, num_envs):
    env = make_env(name, num_envs, max_episode_steps=30)
    first = env.reset()
    kept, copies = [first], [first.copy()]
    for chosen in random_actions(env, 70):
        step = env.step(chosen)
        kept += step
        copies += [array.copy() for array in step]
    assert all(np.array_equal(a, b) for a, b in zip(kept, copies, strict=True))


def test_changing_returned_arrays_does_no_harm():
    actions = random_actions(make_env("cartpole", 8), 40)
    clean, spoilt = make_env("cartpole", 8), make_env("cartpole", 8)
    clean.reset()
    spoilt.reset()[:] = 7.0
    for chosen in actions:
        expected, got = clean.step(chosen), spoilt.step(chosen)
        assert np.array_equal(expected.observations, got.observations)
        for array in got:
            array[:] = 1


def test_observations_in_float64_become_float32():
    class Wide(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float64)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            return np.array([0.5, -0.5]), {}

        def step(self, action):
            return np.array([0.25, 0.75]), 1.0, False, False, {}

    env = LoopEnv("wide", Wide, 2)
    first = env.reset()
    step = env.step(np.zeros(2, np.int64))
    assert env.observation_space.dtype == first.dtype == step.observations.dtype == np.float32
    assert step.observations.tolist() == [[0.25, 0.75]] * 2
