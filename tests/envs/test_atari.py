"""Atari games against a single game on ALE's own interface, preprocessed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.envs import episode_seed, make_env
from tests.envs.plain import SingleAtari
from tests.envs.runs import assert_same_steps, random_actions


def test_pong_is_the_plain_game_reset_in_the_same_step():
    """Two whole games, lost by different actions, and the beginning of the next ones."""
    env = make_env("pong", 2, seed=3, noop_max=0)
    actions = random_actions(env, 1_100)
    first = env.reset()
    steps = [env.step(chosen) for chosen in actions]
    env.close()
    for row in range(2):
        game = SingleAtari("pong", episode_seed(3, row, 0))
        assert np.array_equal(first[row], game.reset())
        total, length, games = 0.0, 0, 0
        for step, chosen in zip(steps, actions, strict=True):
            last, reward, over, _ = game.step(chosen[row])
            total, length = total + reward, length + 1
            assert step.rewards[row] == reward
            assert (step.terminals[row], step.truncations[row]) == (over, False)
            assert np.array_equal(step.final_observations[row], last)
            if over:
                place = step.ended.tolist().index(row)
                assert step.episode_returns[place] == total < -15
                assert step.episode_lengths[place] == length
                total, length, games, last = 0.0, 0, games + 1, game.reset()
                assert not last[..., :3].any()
            assert np.array_equal(step.observations[row], last)
        assert games == 1


def test_sticky_actions_go_on_from_the_seed_of_the_stretch():
    env = make_env("ALE/Pong-v5", 1, seed=8, noop_max=0, max_episode_steps=40)
    actions = random_actions(env, 100)
    env.reset()
    steps = [env.step(chosen) for chosen in actions]
    env.close()
    game = SingleAtari("pong", episode_seed(8, 0, 0), sticky=0.25)
    game.reset()
    for count, (step, chosen) in enumerate(zip(steps, actions, strict=True), start=1):
        last, *_ = game.step(chosen[0])
        assert np.array_equal(step.final_observations[0], last)
        assert step.truncations[0] == (count % 40 == 0)
        if count % 40 == 0:
            last = game.reset()
        assert np.array_equal(step.observations[0], last)


def test_a_lost_life_is_a_terminal_but_the_game_goes_on():
    env = make_env("breakout", 1, seed=1, noop_max=0, episodic_life=True, reward_clipping=True)
    actions = random_actions(env, 400)
    env.reset()
    steps = [env.step(chosen) for chosen in actions]
    env.close()
    game = SingleAtari("breakout", episode_seed(1, 0, 0))
    game.reset()
    lives, lost_lives, age, total = 5, 0, 0, 0.0
    for step, chosen in zip(steps, actions, strict=True):
        stack, reward, over, now = game.step(chosen[0])
        age, total = age + 1, total + reward
        assert step.rewards[0] == np.sign(reward)
        assert np.array_equal(step.final_observations[0], blanked(stack, age, lost_lives))
        assert step.terminals[0] == (now < lives)
        assert step.ended.tolist() == ([0] if over else [])
        if now < lives:
            lost_lives, age = lost_lives + 1, 0
        if over:
            assert step.episode_returns.tolist() == [total]
            break
        lives = now
        assert np.array_equal(step.observations[0], blanked(stack, age, lost_lives))
    assert over
    assert lost_lives == 5


def blanked(stack, age, lost_lives):
    """The stack without the frames of lives before this one."""
    stack = stack.copy()
    if lost_lives:
        stack[..., : max(0, 3 - age)] = 0
    return stack


def test_a_game_that_ends_at_the_time_limit_is_a_terminal_not_a_truncation():
    whole = make_env("breakout", 1, seed=1, noop_max=0)
    actions = random_actions(whole, 400)
    whole.reset()
    length = next(n for n, a in enumerate(actions, start=1) if whole.step(a).terminals[0])
    whole.close()
    for limit, ends in ((length, (True, False)), (length - 1, (False, True))):
        env = make_env("breakout", 1, seed=1, noop_max=0, max_episode_steps=limit)
        env.reset()
        *_, last = (env.step(chosen) for chosen in actions[:limit])
        env.close()
        assert (bool(last.terminals[0]), bool(last.truncations[0])) == ends
        assert last.ended.tolist() == [0]
        assert last.episode_lengths.tolist() == [limit]


def test_rewards_are_clipped_but_returns_are_not():
    """Ms. Pacman's dots give 10 each."""
    actions = None
    sums = []
    for clipped in (False, True):
        env = make_env("ms_pacman", 1, reward_clipping=clipped, max_episode_steps=120)
        actions = actions or random_actions(env, 120)
        env.reset()
        steps = [env.step(chosen) for chosen in actions]
        env.close()
        sums.append(sum(float(step.rewards[0]) for step in steps))
        assert steps[-1].truncations[0]
        assert steps[-1].episode_returns[0] == sums[0] >= 10
    assert sums[1] == sums[0] / 10


def test_spaces_options_and_kept_arrays():
    env = make_env("freeway", 3, full_action_space=True, frame_stack=2, image_size=42, frame_skip=2)
    observations = env.reset()
    assert observations.shape == (3, 42, 42, 2)
    assert env.observation_space.contains(observations)
    assert (env.name, env.num_envs, env.frame_skip) == ("freeway", 3, 2)
    assert env.action_space.num_categories == 18
    kept = [observations, *env.step(np.array([0, 2, 17]))]
    copies = [array.copy() for array in kept]
    for chosen in random_actions(env, 20):
        env.step(chosen)
    env.close()
    assert all(np.array_equal(a, b) for a, b in zip(kept, copies, strict=True))


def test_the_number_of_threads_changes_nothing():
    runs = []
    for threads in (1, 2):
        env = make_env("breakout", 3, seed=2, num_threads=threads, max_episode_steps=12)
        env.reset()
        runs.append([env.step(chosen) for chosen in random_actions(env, 30)])
        env.close()
    assert_same_steps(*runs)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_game_restores():
    """One stretch of two episodes with sticky actions, in each of ALE's games."""
    from rlg.envs.registry import SHORT_NAMES, env_names

    for game in sorted(set(env_names()) - set(SHORT_NAMES)):
        env = make_env(game, 1, repeat_action_probability=0.25, max_episode_steps=60)
        actions = random_actions(env, 120)
        env.reset()
        for chosen in actions[:100]:
            env.step(chosen)
        snapshot = env.snapshot()
        expected = [env.step(chosen) for chosen in actions[100:]]
        env.restore(snapshot)
        assert_same_steps([env.step(chosen) for chosen in actions[100:]], expected)
        env.close()
