"""The end of a run: what it prints can be typed, and a run that can't begin is marked as failed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from rlg.api.run import Outcome, train
from rlg.cli.summary import lines
from rlg.errors import SpaceError
from rlg.execution.evaluation import Evaluation
from tests.cli.conftest import TINY


def test_a_run_ends_with_its_result_and_what_to_type_next(rlg):
    done = rlg("train", *TINY, "evaluation.interval=300", "hydra.run.dir=runs/one")
    assert done.code == 0, done.err
    first, *rest = done.out.splitlines()
    assert re.fullmatch(r"done: 640 steps, 36 updates in 0:\d\d, [\d.,]+ steps/s", first)
    found = {line[:12].strip(" :"): line[12:] for line in rest}
    status = json.loads(Path("runs/one/status.json").read_text())
    best = status["best_evaluation"]
    assert found["best"] == f"mean reward {best['mean_reward']:.2f} at step {best['step']}"
    assert f"mean reward {status['last_evaluation']['mean_reward']:.2f} +-" in found["evaluation"]
    assert found["results"] == "runs/one"
    assert found["curves"] == "tensorboard --logdir runs/one"
    assert Path(found["graph"]).is_file()
    for name in ("evaluate", "compare", "resume"):
        program, *words = shlex.split(found[name])
        assert program == "rlg"
        again = rlg(*words)
        assert again.code == 0, again.err
        if name == "resume":
            assert again.out.startswith("done: 1,280 steps (resumed at 640), 76 updates in ")


def test_only_what_is_known_is_said(tmp_path):
    outcome = Outcome(tmp_path, 130, 1500, 20, None, resumed_at=500, seconds=10.0)
    first, *rest = lines(outcome)
    assert first == (
        "interrupted, saved: 1,500 steps (resumed at 500), 20 updates in 0:10, 100 steps/s"
    )
    assert [line.partition(":")[0] for line in rest] == [
        "results",
        "evaluate",
        "resume",
        "curves",
        "compare",
    ]
    assert f"resume:     rlg resume {tmp_path}" in rest


def test_a_run_that_ended_before_learning_started_says_so(rlg):
    done = rlg("train", *TINY, "agent.learning_starts=5000", "hydra.run.dir=runs/one")
    assert done.code == 0, done.err
    assert re.match(r"done: 640 steps, 0 updates in ", done.out)
    assert done.out.splitlines()[1] == (
        "warning:    nothing was learned: learning starts after 5,000 steps "
        "(agent.learning_starts), the run had 640"
    )


def test_the_log_of_a_run_has_its_first_line_its_result_and_its_resumes(rlg):
    assert rlg("train", *TINY, "hydra.run.dir=runs/one").code == 0
    assert rlg("resume", "runs/one", "total_timesteps=800").code == 0
    log = Path("runs/one/run.log").read_text()
    words = [line.partition("  ")[2] for line in log.splitlines()]
    first = "run in runs/one: torch on cpu, threads: 1"
    assert [word for word in words if word == first] == [first, first]
    assert words[0] == first
    assert "done, exit code 0" in words
    assert any(word.startswith("done: 640 steps, 36 updates in ") for word in words)
    assert words.index("resumed from step 640") > words.index("done, exit code 0")
    assert log.count("evaluate:   rlg eval runs/one") == 2


@pytest.mark.parametrize(
    ("steps", "updates", "warns"), [(640, 0, True), (640, 5, False), (6000, 0, False)]
)
def test_only_a_run_below_its_start_of_learning_is_warned_of(tmp_path, steps, updates, warns):
    (tmp_path / "config.yaml").write_text("agent: {learning_starts: 5000}")
    found = lines(Outcome(tmp_path, 0, steps, updates, None, seconds=1.0))
    assert any(line.startswith("warning:") for line in found) is warns


@pytest.mark.parametrize(("at", "words"), [(5, " --checkpoint best"), (10, "")])
def test_the_best_model_is_what_to_evaluate_if_it_is_another_than_the_last(tmp_path, at, words):
    (tmp_path / "best").mkdir()
    best = {"step": at, "mean_reward": 2.0}
    found = lines(Outcome(tmp_path, 0, 10, 2, None, best=best, seconds=1.0))
    assert f"evaluate:   rlg eval {tmp_path}{words}" in found
    (tmp_path / "best").rmdir()
    found = lines(Outcome(tmp_path, 0, 10, 2, None, best=best, seconds=1.0))
    assert f"evaluate:   rlg eval {tmp_path}" in found


def test_texts_stand_under_each_other(tmp_path):
    evaluation = Evaluation((1.0, 2.0), (3, 3))
    outcome = Outcome(
        tmp_path, 0, 10, 2, evaluation, best={"step": 5, "mean_reward": 2.0}, seconds=1.0
    )
    starts = {re.match(r"\S+ +", line).end() for line in lines(outcome)[1:]}
    assert starts == {12}


def test_a_run_that_can_not_be_built_is_marked_as_refused(tmp_path):
    # A dense layer takes no cell numbers, but only the build knows.
    config = {
        "total_timesteps": 100,
        "agent": {"type": "dqn"},
        "env": {"name": "grid_world"},
        "network": {"type": "stack", "layers": [{"type": "dense", "units": 4}]},
        "backend": {"type": "torch"},
    }
    with pytest.raises(SpaceError, match="dense-0"):
        train(config, tmp_path / "run")
    status = json.loads((tmp_path / "run/status.json").read_text())
    assert (status["state"], status["exit_code"]) == ("failed", 2)
    assert "dense-0: Dense takes" in status["error"]
    assert status["finished"] is not None
