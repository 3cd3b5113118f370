"""Demonstrations: `rlg eval RUN --record FILE`, then `rlg train agent=dqfd`."""

from __future__ import annotations

import numpy as np
import pytest

import rlg as package
from rlg.envs.vector import Step
from rlg.execution.demonstrations import Recorder
from tests.cli.conftest import TINY


def trained(rlg, most: int) -> str:
    """A run that hardly learned, and cuts the episodes of its evaluations."""
    words = ["env=cartpole", "hydra.run.dir=run", f"evaluation.max_steps={most}"]
    done = rlg("train", *TINY, *words)
    assert done.code == 0, done.err
    return "run"


@pytest.fixture
def run(rlg):
    return trained(rlg, 30)


def test_two_commands_from_a_run_to_an_agent_that_learns_from_it(rlg, folder, run, monkeypatch):
    result = rlg("eval", run, "--record", "d.npz", "--episodes", "3")
    assert result.code == 0, result.err
    steps = dict(np.load(folder / "d.npz"))
    count = len(steps["rewards"])
    assert f"record:     d.npz, {count} steps\n" in result.out
    ends = steps["terminals"] | steps["truncations"]
    assert (ends.sum(), bool(ends[-1])) == (3, True)
    # Inside of an episode each step begins where the one before it ended.
    inside = ~ends[:-1]
    np.testing.assert_array_equal(steps["states"][1:][inside], steps["next_states"][:-1][inside])
    assert not np.isclose(steps["states"][1:][~inside], steps["next_states"][:-1][~inside]).all()
    words = ["agent.demonstrations=d.npz", "agent.pretrain_updates=20", "hydra.run.dir=own"]
    done = rlg("train", *TINY, "agent=dqfd", "env=cartpole", *words)
    assert done.code == 0, done.err
    # The file's name is noted for resumes from elsewhere.
    assert f"demonstrations: {folder / 'd.npz'}" in (folder / "own/config.yaml").read_text()
    monkeypatch.chdir(folder / "own")
    assert rlg("resume", ".", "total_timesteps=700").code == 0


def test_what_an_evaluation_cuts_is_recorded_as_truncated(rlg, folder):
    # No pole falls within five steps.
    found = package.evaluate(trained(rlg, 5), episodes=4, record=folder / "d.npz")
    assert (found.lengths, found.cut) == ((5, 5, 5, 5), 4)
    steps = dict(np.load(folder / "d.npz"))
    assert not steps["terminals"].any()
    assert np.flatnonzero(steps["truncations"]).tolist() == [4, 9, 14, 19]


def test_an_episode_that_ends_by_itself_where_it_would_be_cut_is_not_truncated(tmp_path):
    recorder, observations = Recorder(tmp_path / "d.npz"), np.zeros((1, 2), "float32")
    recorder.max_steps = 2
    no, yes = np.array([False]), np.array([True])
    for terminals in (no, yes, no, no):  # an end at the second step, and a cut at the fourth
        step = Step(observations, np.ones(1, "float32"), terminals, no, observations, *[no] * 3)
        recorder.add(observations, np.zeros(1, np.int64), step)
    assert recorder.save() == 4
    with np.load(tmp_path / "d.npz") as steps:
        assert steps["terminals"].tolist() == [False, True, False, False]
        assert steps["truncations"].tolist() == [False, False, False, True]


def test_a_mistake_gets_one_line(rlg, folder, run):
    wrong = rlg("eval", run, "--record", "d.txt")
    assert (wrong.code, wrong.err) == (
        2,
        "rlg: error: d.txt: demonstrations are .npz files. Write d.npz.\n",
    )
    assert "there is no folder" in rlg("eval", run, "--record", "none/d.npz").err
    (folder / "taken.npz").mkdir()
    taken = rlg("eval", run, "--record", "taken.npz", "--episodes", "1")
    assert (taken.code, "--record taken.npz: Is a directory. Give a place" in taken.err) == (
        1,
        True,
    )
    assert not list(folder.glob(".taken*"))
    without = rlg("train", *TINY, "agent=dqfd", "env=cartpole", "hydra.run.dir=a")
    assert (without.code, "agent.demonstrations: missing" in without.err) == (2, True)
    missing = rlg("train", *TINY, "agent=dqfd", "agent.demonstrations=no.npz", "hydra.run.dir=b")
    assert (missing.code, "no such file" in missing.err) == (2, True)
