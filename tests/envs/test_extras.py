"""Environments of extras: Box2D, MuJoCo, MinAtar and ViZDoom as they are shown to agents."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.envs import make_env
from rlg.errors import SpecError

NOTHING = np.zeros(1, np.int64)


@pytest.mark.parametrize(
    ("name", "observations", "actions"),
    [
        ("lunar_lander", ((8,), "float32"), ((), 4)),
        ("lunar_lander_continuous", ((8,), "float32"), ((2,), (-1.0, 1.0))),
        ("bipedal_walker", ((24,), "float32"), ((4,), (-1.0, 1.0))),
        ("half_cheetah", ((17,), "float32"), ((6,), (-1.0, 1.0))),
        ("hopper", ((11,), "float32"), ((3,), (-1.0, 1.0))),
        ("walker2d", ((17,), "float32"), ((6,), (-1.0, 1.0))),
        ("ant", ((105,), "float32"), ((8,), (-1.0, 1.0))),
        ("minatar_asterix", ((10, 10, 4), "bool"), ((), 5)),
        ("minatar_breakout", ((10, 10, 4), "bool"), ((), 3)),
        ("minatar_freeway", ((10, 10, 7), "bool"), ((), 3)),
        ("minatar_seaquest", ((10, 10, 10), "bool"), ((), 6)),
        ("minatar_space_invaders", ((10, 10, 6), "bool"), ((), 4)),
        ("doom_basic", ((84, 84, 4), "uint8"), ((), 4)),
        ("doom_deadly_corridor", ((84, 84, 4), "uint8"), ((), 8)),
        ("doom_deathmatch", ((84, 84, 4), "uint8"), ((), 18)),  # three buttons are deltas
    ],
)
def test_spaces_are_those_of_the_published_tasks(name, observations, actions):
    with make_env(name) as env:
        box, chosen = env.observation_space, env.action_space
    assert (box.shape, box.dtype) == observations
    shape, limits = actions
    assert chosen.shape == shape
    assert (chosen.num_categories if shape == () else (chosen.low, chosen.high)) == limits


def test_nothing_is_left_in_the_folder_of_a_run(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for name in ("half_cheetah", "doom_basic"):
        with make_env(name) as env:
            env.reset()
            env.step(env.action_space.sample(0, batch=1))
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_doom_counts_tics_and_shows_a_last_frame_where_time_is_up():
    with make_env("doom_basic", seed=1, image_size=20, reward_scale=0.01) as env:
        assert (env.frame_skip, env.fps) == (4, 8.75)
        first = env.reset()
        assert first.shape == (1, 20, 20, 4)
        assert not first[..., :3].any()  # stacks begin with zeros
        assert first[..., 3].any()
        steps = [env.step(NOTHING) for _ in range(75)]
    assert {float(step.rewards[0]) for step in steps} == {np.float32(-0.04)}  # -1 a tic
    assert np.array_equal(steps[0].observations[..., 2], first[..., 3])  # the newest is the last
    ends = [step.truncations[0] for step in steps]
    assert ends == [False] * 74 + [True]  # 300 tics
    assert not any(step.terminals[0] for step in steps)
    assert steps[-1].episode_returns.tolist() == [-300.0]
    assert steps[-1].final_observations[..., -1].any()
    assert not steps[-1].observations[..., :3].any()


def test_a_shot_that_hits_ends_the_basic_scenario():
    """Walks from side to side and shoots: 101 for the hit, -5 for a shot, -1 a tic."""
    sweep = [1] * 12 + [2] * 24 + [1] * 12
    with make_env("doom_basic", seed=2, image_size=12, frame_skip=2) as env:
        env.reset()
        for move in (*sweep, *sweep, *sweep):
            for action in (move, 3, 0, 0):
                step = env.step(np.array([action]))
                if step.terminals[0]:
                    assert step.rewards[0] > 90
                    assert not step.final_observations[..., -1].any()  # there is no frame then
                    assert step.episode_returns[0] < 95
                    return
    pytest.fail("the monster is hit on the way")


def test_actions_of_doom_are_up_to_so_many_buttons():
    from rlg.envs.builtin.doom import _choices

    assert _choices(2, 1) == [[False, False], [True, False], [False, True]]
    assert _choices(2, 5) == [*_choices(2, 1), [True, True]]
    with make_env("doom_basic", max_buttons_pressed=2) as env:
        assert env.action_space.num_categories == 1 + 3 + 3


def test_doom_draws_what_the_agent_sees():
    with make_env("doom_basic", render_mode="rgb_array") as env:
        observations = env.reset()
        assert env.picture(observations).shape == (360, 480, 3)


def test_an_unknown_scenario_is_refused():
    with pytest.raises(SpecError, match="doom: there is no scenario 'e1m1'; use basic, deadly_"):
        make_env("doom_basic", scenario="e1m1")


def test_rewards_are_scaled_and_returns_are_not():
    with make_env("counter", steps_to_terminal=4, reward_scale=0.5) as env:
        env.reset()
        steps = [env.step(NOTHING) for _ in range(4)]
    assert [step.rewards[0] for step in steps] == [0.0, 0.5, 1.0, 1.5]
    assert steps[-1].episode_returns.tolist() == [6.0]


def test_snapshots_of_another_scale_are_refused_and_those_without_one_go_on():
    with make_env("counter", reward_scale=0.5) as env, make_env("counter") as plain:
        env.reset()
        plain.reset()
        assert "reward_scale" not in plain.snapshot()["options"]
        with pytest.raises(Exception, match="options is"):
            plain.restore(env.snapshot())
