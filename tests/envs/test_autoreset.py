"""Transitions that are numbered, through every way in which vector environments reset."""

from __future__ import annotations

from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from rlg.envs import make_env
from rlg.envs.batched import BatchedEnv
from rlg.envs.loop import LoopEnv
from rlg.errors import EnvironmentFailure, SpecError
from tests.envs.numbered import Numbered

ZERO, ONE = partial(Numbered, 0), partial(Numbered, 1)
MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED]


# (episode, step) -> (episode, step), reward, terminal, truncated: of the environment first=0.
EXPECTED = [
    ((0, 0), (0, 1), 0, False, False),
    ((0, 1), (0, 2), 1, True, False),
    ((1, 0), (1, 1), 10, False, False),
    ((1, 1), (1, 2), 11, False, False),
    ((1, 2), (1, 3), 12, False, True),
    ((2, 0), (2, 1), 20, False, False),
    ((2, 1), (2, 2), 21, False, False),
    ((2, 2), (2, 3), 22, False, False),
    ((2, 3), (2, 4), 23, True, False),
    ((3, 0), (3, 1), 30, False, False),
]
# Rewards of the environment first=1, whose first episode has 3 steps.
BESIDE = [0, 1, 2, 10, 11, 12, 13, 20, 21, 30]
# Where episodes end, in which environments, with which returns and lengths.
ENDS = [
    (1, [0], [1.0], [2]),
    (2, [1], [3.0], [3]),
    (4, [0], [33.0], [3]),
    (6, [1], [46.0], [4]),
    (8, [0, 1], [86.0, 41.0], [4, 2]),
]


def transitions(env, steps=10):
    """What a sampler would learn from: before, after, reward, ends of all environments."""
    before, found, ends = env.reset(), [], []
    for count in range(steps):
        step = env.step(np.zeros(env.num_envs, np.int64))
        found.append((before, step))
        before = step.observations
        if step.ended.size:
            ends.append((count, step.ended.tolist(), *(x.tolist() for x in step[5:7])))
    return found, ends


def check(env):
    found, ends = transitions(env)
    rows = [
        (
            tuple(before[0].astype(int)),
            tuple(step.final_observations[0].astype(int)),
            step.rewards[0],
            step.terminals[0],
            step.truncations[0],
        )
        for before, step in found
    ]
    assert rows == EXPECTED
    assert [step.rewards[1] for _, step in found] == BESIDE
    assert ends == ENDS
    for before, step in found:  # a transition stays inside of its episode
        assert np.array_equal(before[:, 0], step.final_observations[:, 0])
        assert np.array_equal(before[:, 1] + 1, step.final_observations[:, 1])
    env.close()


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_no_transition_is_lost_doubled_or_joined(mode):
    check(BatchedEnv("numbered", lambda: sync(mode)))


def sync(mode):
    return SyncVectorEnv([ZERO, ONE], autoreset_mode=mode)


def test_the_same_holds_for_environments_in_processes():
    words = {"context": "spawn", "autoreset_mode": AutoresetMode.SAME_STEP}
    check(BatchedEnv("numbered", lambda: AsyncVectorEnv([ZERO, ONE], **words)))


def test_the_same_holds_for_single_environments():
    made = iter([Numbered(0), Numbered(1)])
    check(LoopEnv("numbered", lambda: next(made), 2))


def test_rewards_of_vector_environments_are_scaled_and_returns_are_not():
    env = BatchedEnv("numbered", lambda: sync(MODES[1]), reward_scale=0.5)
    found, ends = transitions(env)
    assert [step.rewards[1] * 2 for _, step in found] == BESIDE
    assert ends == ENDS


class Deaf(SyncVectorEnv):
    """A vector environment that knows no mask: it resets all."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)


def test_a_vector_environment_that_resets_all_at_once_is_found_out():
    env = BatchedEnv("deaf", lambda: Deaf([ZERO, ONE]))
    env.reset()
    env.step(np.zeros(2, np.int64))
    with pytest.raises(EnvironmentFailure, match=r"to reset environments \[0\] and changed others"):
        env.step(np.zeros(2, np.int64))


def test_episodes_in_processes_are_those_of_the_loop_and_go_on_from_a_snapshot():
    options = {"num_envs": 2, "seed": 3, "max_episode_steps": 20, "terminal_probability": 0.0}
    with make_env("random_env", vectorization="async", **options) as env:
        with make_env("random_env", **options) as loop:
            rng = np.random.default_rng(0)
            actions = [loop.action_space.sample(rng, batch=2) for _ in range(60)]
            assert np.array_equal(env.reset(), loop.reset())
            steps = []
            for chosen in actions:
                steps.append(env.step(chosen))
                for mine, theirs in zip(steps[-1], loop.step(chosen), strict=True):
                    assert np.array_equal(mine, theirs)
                if len(steps) == 33:
                    snapshot = env.snapshot()
        assert snapshot["actions"].shape == (13, 2)
        assert np.array_equal(env.restore(snapshot), steps[32].observations)
        again = [env.step(chosen) for chosen in actions[33:]]
        for mine, theirs in zip(again, steps[33:], strict=True):
            assert np.array_equal(mine.observations, theirs.observations)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_a_snapshot_goes_on_where_episodes_began_at_different_times(mode):
    def make():
        envs = [lambda: gymnasium.make("CartPole-v1")] * 3
        return SyncVectorEnv(envs, autoreset_mode=mode)

    env, rng = BatchedEnv("poles", make, seed=4), np.random.default_rng(1)
    actions = [rng.integers(0, 2, 3) for _ in range(90)]
    env.reset()
    steps, snapshots = [], {}
    for count, chosen in enumerate(actions):
        steps.append(env.step(chosen))
        if count in (0, 30, 47) or steps[-1].ended.size:
            snapshots[count] = env.snapshot()
    assert len(snapshots) > 6
    other = BatchedEnv("poles", make, seed=5)
    for count, snapshot in snapshots.items():
        assert np.array_equal(other.restore(snapshot), steps[count].observations)
        for chosen, expected in zip(actions[count + 1 :], steps[count + 1 :], strict=True):
            assert np.array_equal(other.step(chosen).observations, expected.observations)


def test_what_can_not_be_vectorized_says_so():
    with pytest.raises(SpecError, match=r"no vector environment of its own\. Write env\.vect"):
        make_env("pendulum", 2, vectorization="own")
    with pytest.raises(SpecError, match="needs a new environment for each episode"):
        make_env("minatar_breakout", 2, vectorization="async")
