"""Seeds: every episode has its own, and any can be repeated."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from rlg.envs import episode_seed, make_env
from tests.envs.runs import assert_same, assert_same_steps, random_actions


def test_the_seed_of_an_episode_never_changes():
    assert episode_seed(0, 0, 0) == 892_341_025
    assert episode_seed(3, 1, 41) == 164_524_997
    assert episode_seed(-1, 0, 0) != episode_seed(1, 0, 0)


def test_neighbouring_roots_environments_and_episodes_share_no_seed():
    seeds = {
        episode_seed(root, env, episode)
        for root in range(10)
        for env in range(10)
        for episode in range(100)
    }
    assert len(seeds) >= 10_000 - 2  # of 2**31: two equal ones would be chance
    assert max(seeds) < 2**31
    assert min(seeds) >= 0


@pytest.mark.parametrize(("name", "num_envs"), [("cartpole", 2), ("cartpole", 8), ("pendulum", 2)])
def test_equal_seeds_give_equal_runs(name, num_envs):
    one, two, other = (make_env(name, num_envs, seed) for seed in (4, 4, 5))
    actions = random_actions(one, 60)
    first = one.reset()
    assert_same(first, two.reset())
    assert not np.isin(other.reset(), first).any()
    assert_same_steps([one.step(a) for a in actions], [two.step(a) for a in actions])


def test_environments_and_episodes_differ():
    env = make_env("cartpole", 8)
    starts = [env.reset(), env.reset(), env.reset()]
    assert len({tuple(row) for start in starts for row in start}) == 24


def test_any_episode_can_be_repeated_in_a_plain_environment():
    env = make_env("acrobot", 2, seed=9, max_episode_steps=20)
    env.reset()
    for chosen in random_actions(env, 60):
        step = env.step(chosen)
    plain = gymnasium.make("Acrobot-v1")
    first, _ = plain.reset(seed=episode_seed(9, 1, 3))  # after three episodes of 20 steps
    assert np.array_equal(step.observations[1], first)


def test_atari_games_differ_by_environment_and_root():
    actions = [np.full(2, 3)] * 12
    frames = []
    for seed in (0, 1):
        with make_env("pong", 2, seed) as env:
            env.reset()
            frames += [env.step(a).observations.copy() for a in actions][-1:]
    rows = {frame[row].tobytes() for frame in frames for row in range(2)}
    assert len(rows) == 4
