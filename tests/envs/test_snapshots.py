"""Snapshots: a run goes on from one as if it had never stopped, bit by bit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from rlg.envs import make_env
from rlg.errors import EnvironmentFailure
from tests.envs.plain import register_plain
from tests.envs.runs import assert_same, assert_same_steps, random_actions
from tests.patience import PATIENCE

PONG = ("pong", 3, {"max_episode_steps": 25, "steps_per_seed": 40})
BREAKOUT = ("breakout", 2, {"episodic_life": True, "repeat_action_probability": 0.25})
CASES = [
    ("cartpole", 3, {}),
    ("cartpole", 8, {"max_episode_steps": 20}),
    ("pendulum", 2, {"max_episode_steps": 30}),
    ("acrobot", 2, {"max_episode_steps": 35}),
    ("grid_world", 2, {"world": "8x8"}),
    ("random_env", 3, {"shape": [3]}),
    ("counter", 2, {"steps_to_terminal": 300}),
    ("plain/Nested-v0", 2, {"max_episode_steps": 30}),
    # of extras
    ("lunar_lander", 2, {"max_episode_steps": 40}),
    ("bipedal_walker", 2, {"max_episode_steps": 25}),
    ("half_cheetah", 2, {"max_episode_steps": 30}),
    ("minatar_breakout", 2, {}),
    ("doom_defend_the_center", 1, {"image_size": 12}),
]


@pytest.fixture(autouse=True)
def _plain_environments():
    register_plain()


def as_stored(snapshot):
    """Through a file format that knows numpy arrays and JSON, as in a checkpoint."""
    arrays = {key: value for key, value in snapshot.items() if isinstance(value, np.ndarray)}
    assert all(array.dtype != object for array in arrays.values())
    rest = {key: value for key, value in snapshot.items() if key not in arrays}
    assert all(isinstance(key, str) for key in snapshot)
    return {**json.loads(json.dumps(rest)), **{key: array.copy() for key, array in arrays.items()}}


@pytest.mark.parametrize("case", [*CASES[:2], CASES[3], PONG], ids=lambda case: f"{case[0]}")
def test_a_snapshot_is_apart_from_the_run_that_goes_on(case):
    name, num_envs, options = case
    env = make_env(name, num_envs, seed=4, **options)
    env.reset()
    actions = random_actions(env, 30, seed=2)
    for chosen in actions[:10]:
        env.step(chosen)
    snapshot = env.snapshot()
    before = as_stored(snapshot)
    for chosen in actions[10:]:
        env.step(chosen)
    env.close()
    assert before["returns"].any() or name == "pong"
    assert as_stored(snapshot).keys() == before.keys()
    for key, value in before.items():
        assert np.array_equal(as_stored(snapshot)[key], value), key


def check_restore(name, num_envs, options, steps, points=()):
    """Snapshots at these points and right after ends of episodes and lives go on like the run."""
    env = make_env(name, num_envs, seed=11, **options)
    actions = random_actions(env, steps, seed=1)
    observations, run, snapshots, ends = env.reset(), [], {}, set()
    for count, chosen in enumerate(actions):
        end = end_of(run[-1]) if run else None
        if count in points or (end and end not in ends):
            snapshots[count] = as_stored(env.snapshot()), observations
            ends.add(end)
        run.append(env.step(chosen))
        observations = run[-1].observations
    other = make_env(name, num_envs, seed=12, **options)
    for count, (snapshot, expected) in snapshots.items():
        assert_same(other.restore(snapshot), expected)
        tail = actions[count : count + 40]
        assert_same_steps([other.step(chosen) for chosen in tail], run[count : count + 40])
    env.close()
    other.close()
    return snapshots, ends - {None}


def end_of(step):
    return "episode" if step.ended.size else "life" if step.terminals.any() else None


@pytest.mark.parametrize(("name", "num_envs", "options"), CASES)
def test_a_run_goes_on_from_a_snapshot_bit_by_bit(name, num_envs, options):
    points = {0, 1, *np.random.default_rng(2).integers(2, 280, 4).tolist()}
    _, ends = check_restore(name, num_envs, options, 300, points)
    assert ends == (set() if name == "counter" else {"episode"})


def test_pong_goes_on_from_a_snapshot_bit_by_bit():
    snapshots, ends = check_restore(*PONG, steps=130, points={0, 17, 75, 93})
    assert ends == {"episode"}
    snapshot, _ = snapshots[75]  # episodes ended at 25 and 75, and at 50, which took a new seed
    assert snapshot["opened"].tolist() == [2, 2, 2]
    assert snapshot["since"].tolist() == [25, 25, 25]


def test_breakout_with_lives_goes_on_in_a_fresh_process(tmp_path: Path):
    env = make_env(BREAKOUT[0], BREAKOUT[1], seed=6, **BREAKOUT[2])
    actions = random_actions(env, 330)
    env.reset()
    steps = [env.step(chosen) for chosen in actions[:300]]
    assert sum(int(step.terminals.sum()) for step in steps) > sum(s.ended.size for s in steps) > 0
    snapshot = as_stored(env.snapshot())
    arrays = {k: snapshot.pop(k) for k in list(snapshot) if isinstance(snapshot[k], np.ndarray)}
    np.savez(tmp_path / "in.npz", todo=np.stack(actions[300:]), **arrays)
    (tmp_path / "in.json").write_text(json.dumps([BREAKOUT, snapshot]), encoding="utf-8")
    script = """
import json, sys
import numpy as np
from rlg.envs import make_env
(name, num_envs, options), snapshot = json.load(open(sys.argv[1] + "/in.json"))
arrays = dict(np.load(sys.argv[1] + "/in.npz"))
todo = arrays.pop("todo")
env = make_env(name, num_envs, **options)
env.restore({**snapshot, **arrays})
steps = [env.step(chosen) for chosen in todo]
np.savez(sys.argv[1] + "/out.npz", *[np.stack([s[k] for s in steps]) for k in range(5)])
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=PATIENCE)
    expected = [env.step(chosen) for chosen in actions[300:]]
    env.close()
    got = np.load(tmp_path / "out.npz")
    for field in range(5):
        assert np.array_equal(got[f"arr_{field}"], np.stack([step[field] for step in expected]))


def test_breakout_goes_on_right_after_lives_and_games_end():
    options = {"episodic_life": True, "steps_per_seed": 0}
    _, ends = check_restore("breakout", 2, options, steps=330)
    assert ends == {"life", "episode"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ends"), [("qbert", {"life", "episode"}), ("tetris", {"episode"})]
)
def test_games_whose_emulator_state_could_not_be_copied_go_on_too(name, ends):
    """Versions of ale-py lost parts of these when a state was cloned: actions are replayed."""
    options = {"episodic_life": True, "repeat_action_probability": 0.25, "steps_per_seed": 300}
    points = {1, 150, 299, 301, 420, 555}
    snapshots, found = check_restore(name, 2, options, 600, points)
    assert found == ends
    assert points < snapshots.keys()
    assert snapshots[555][0]["opened"].min() > 0  # a later seed opened this stretch


def test_the_log_is_as_long_as_the_longest_running_episode():
    env = make_env("counter", 2, steps_to_terminal=40)
    env.reset()
    for chosen in random_actions(env, 1_000):
        env.step(chosen)
    assert env.snapshot()["actions"].shape == (0, 2)  # 25 episodes have just ended
    for chosen in random_actions(env, 13):
        env.step(chosen)
    assert env.snapshot()["actions"].shape == (13, 2)


def test_a_snapshot_is_not_changed_by_further_steps():
    env = make_env("cartpole", 8)
    env.reset()
    snapshot = env.snapshot()
    state = snapshot["state"].copy()
    for chosen in random_actions(env, 20):
        env.step(chosen)
    assert np.array_equal(snapshot["state"], state)


def test_an_environment_that_remembers_is_found_out_and_can_be_made_fresh():
    env = make_env("plain/Remembering-v0", 2)
    env.reset()
    for chosen in random_actions(env, 6):
        env.step(chosen)
    with pytest.raises(EnvironmentFailure, match=r"environment 0, episode 1: .*fresh_envs=true"):
        env.restore(env.snapshot())
    check_restore("plain/Remembering-v0", 2, {"fresh_envs": True}, 30, {0, 6, 17})


def test_a_snapshot_of_another_environment_is_refused():
    env = make_env("cartpole", 2, max_episode_steps=30)
    env.reset()
    snapshot = env.snapshot()
    with pytest.raises(EnvironmentFailure, match=r"num_envs is 2, this environment's 3"):
        make_env("cartpole", 3, max_episode_steps=30).restore(snapshot)
    with pytest.raises(EnvironmentFailure, match=r"options is .*'30'.*'40'"):
        make_env("cartpole", 2, max_episode_steps=40).restore(snapshot)
    with pytest.raises(EnvironmentFailure, match="name is 'cartpole'"):
        make_env("acrobot", 2, max_episode_steps=30).restore(snapshot)


def test_there_is_nothing_to_save_before_the_first_reset():
    for name, num_envs in (("cartpole", 1), ("cartpole", 8)):
        env = make_env(name, num_envs)
        with pytest.raises(EnvironmentFailure, match=r"snapshot\(\) before reset"):
            env.snapshot()
        with pytest.raises(EnvironmentFailure, match=r"step\(\) before reset"):
            env.step(np.zeros(num_envs, int))


def test_restored_environments_are_those_of_gymnasium():
    """The oracle of the replay itself: a plain environment, same seed, same actions."""
    from rlg.envs import episode_seed

    env = make_env("pendulum", 1, seed=3)
    env.reset()
    actions = random_actions(env, 50)
    for chosen in actions:
        step = env.step(chosen)
    plain = gymnasium.make("Pendulum-v1")
    plain.reset(seed=episode_seed(3, 0, 0))
    for chosen in actions:
        observation, *_ = plain.step(chosen[0])
    assert np.array_equal(env.restore(env.snapshot())[0], observation)
    assert np.array_equal(step.observations[0], observation)


def test_an_episode_of_minatar_does_not_know_how_the_one_before_it_ended():
    """Its environments repeat the last action now and then, also at the start of an episode."""

    def second_episodes(action):
        env, found = make_env("minatar_breakout", 30), [None] * 30
        env.reset()
        has_ended = np.zeros(30, np.bool_)
        while any(one is None for one in found):
            step = env.step(np.where(has_ended, 0, action))
            for row in np.flatnonzero(has_ended):
                if found[row] is None:
                    found[row] = step.final_observations[row]
            has_ended |= step.terminals | step.truncations
        env.close()
        return np.array(found)

    np.testing.assert_array_equal(second_episodes(1), second_episodes(2))
