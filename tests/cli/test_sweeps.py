"""`rlg train -m`: one bad value fails one job."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import TINY


def test_a_bad_value_fails_its_own_job_and_the_command_at_the_end(rlg, folder):
    result = rlg("train", "-m", *TINY, "agent.gamma=0.9,7,0.8")
    assert result.code == 1
    errors = [line for line in result.err.splitlines() if line.startswith("rlg: error:")]
    assert errors == [
        "rlg: error: job 1 (agent.gamma=7): agent.gamma: it is 7.0; it is from 0 to 1.",
        "rlg: error: 1 of 3 jobs failed: 1. Their errors are above.",
    ]
    assert "Traceback" not in result.err
    assert "Error executing job" not in result.err
    assert "job 0 (agent.gamma=0.9): done" in result.out
    assert "job 2 (agent.gamma=0.8): done" in result.out
    (sweep,) = folder.glob("multirun/*/*")
    found = {path.name: json.loads((path / "status.json").read_text()) for path in sweep.glob("?")}
    assert {name: status["state"] for name, status in found.items()} == {
        "0": "done",
        "1": "failed",
        "2": "done",
    }
    assert found["1"]["exit_code"] == 2
    assert "agent.gamma" in found["1"]["error"]


def test_a_missing_option_refuses_all_jobs(rlg, folder):
    result = rlg("train", "-m", *TINY, "network=mlp,mlpp")
    assert result.code == 2
    assert "Did you mean 'mlp'?" in result.err
    assert list(folder.glob("multirun/*/*/?")) == []


def test_the_objective_of_a_job_is_its_last_evaluation(rlg, folder, monkeypatch):
    from rlg.cli.job import Jobs

    found = []
    call = Jobs.__call__
    monkeypatch.setattr(Jobs, "__call__", lambda self, cfg: found.append(call(self, cfg)))
    rlg("train", *TINY)
    (status,) = folder.glob("outputs/*/*/status.json")
    assert found == [json.loads(status.read_text())["last_evaluation"]["mean_reward"]]


@pytest.mark.slow
def test_jobs_in_other_processes_report_their_failures(process, folder):
    launcher = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    result = process("train", "-m", *launcher, *TINY, "agent.gamma=0.9,7,0.8")
    assert result.code == 1
    assert "job 1 (agent.gamma=7): agent.gamma: it is 7.0" in result.err
    assert "Traceback" not in result.err
    states = [
        json.loads(path.read_text())["state"] for path in folder.glob("multirun/*/*/?/status.json")
    ]
    assert sorted(states) == ["done", "done", "failed"]
