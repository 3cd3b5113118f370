"""`rlg train -m` and `rlg sweep`: one bad value fails one job, and the table says it all."""

from __future__ import annotations

import json

from tests.cli.conftest import TINY


def test_a_bad_value_fails_its_own_job_and_the_command_at_the_end(rlg, folder):
    result = rlg("train", "-m", *TINY, "agent.gamma=0.9,7,0.8,0.7", "hydra.sweep.dir=s")
    assert result.code == 1
    errors = [line for line in result.err.splitlines() if line.startswith("rlg: error:")]
    assert errors == [
        "rlg: error: job 1 (agent.gamma=7): agent.gamma: must be between 0 and 1, got 7.0.",
        (
            "rlg: error: 1 of 4 jobs failed: 1. Their errors are above; rlg sweep s --resume runs "
            "them again."
        ),
    ]
    assert "Traceback" not in result.err
    assert "Error executing job" not in result.err
    for number, value in ((0, 0.9), (2, 0.8), (3, 0.7)):
        assert f"job {number} (agent.gamma={value}): done" in result.out
    assert "failed:     job 1 (agent.gamma=7): agent.gamma: must be between 0 and 1" in result.out
    found = {
        path.parent.name: json.loads(path.read_text()) for path in folder.glob("s/?/status.json")
    }
    states = {name: status["state"] for name, status in found.items()}
    assert states == {"0": "done", "1": "failed", "2": "done", "3": "done"}
    assert found["1"]["exit_code"] == 2
    assert "agent.gamma" in found["1"]["error"]


def test_a_failed_job_does_not_end_a_sweep_in_batches(rlg, folder):
    words = ["agent.gamma=7,0.9", "hydra.sweeper.max_batch_size=1", "hydra.sweep.dir=s"]
    assert rlg("train", "-m", *TINY, *words).code == 1
    assert json.loads((folder / "s/1/status.json").read_text())["state"] == "done"


def test_the_table_has_the_best_first_and_means_over_seeds(rlg, folder):
    words = ["agent.gamma=0.9,0.5", "seed=1,2", "hydra.sweep.dir=s"]
    done = rlg("train", "-m", *TINY, *words)
    assert done.code == 0, done.err
    rewards = {
        int(path.parent.name): json.loads(path.read_text())["last_evaluation"]["mean_reward"]
        for path in folder.glob("s/?/status.json")
    }
    shown = rlg("sweep", "s", "--json")
    table = json.loads(shown.out)
    last = [job["last_reward"] for job in table["jobs"]]
    assert last == sorted(rewards.values(), reverse=True)
    assert table["best"] == max(rewards, key=lambda number: (rewards[number], -number))
    assert f"best:       job {table['best']} (" in done.out
    assert table["jobs"][0]["values"] == [
        f"agent.gamma={0.9 if table['best'] < 2 else 0.5}",
        f"seed={table['best'] % 2 + 1}",
    ]
    for group in table["groups"]:
        first = 0 if group["values"] == ["agent.gamma=0.9"] else 2
        a, b = rewards[first], rewards[first + 1]
        assert (group["done"], group["count"]) == (2, 2)
        assert abs(group["mean"] - (a + b) / 2) < 1e-9
        assert abs(group["std"] - abs(a - b) / 2**0.5) < 1e-9  # of a sample of two
    assert [job["state"] for job in table["jobs"]] == ["done"] * 4
    assert table["next"] == [
        f"rlg eval s/{table['best']}",
        "rlg plot s --output compare.html",
    ]
    header, *lines = rlg("sweep", "s").out.splitlines()
    assert header.split() == "job values state steps last best time folder".split()
    assert [line.split()[0] for line in lines[:4]] == [str(j["number"]) for j in table["jobs"]]


def test_runs_of_any_origin_are_told_apart_by_what_differs(rlg, folder):
    for number, seed in enumerate((5, 6)):
        rlg("train", *TINY, f"seed={seed}", f"hydra.run.dir=mine/run{number}")
    table = json.loads(rlg("sweep", "mine", "--json").out)
    assert sorted(job["values"] for job in table["jobs"]) == [["seed=5"], ["seed=6"]]
    assert table["groups"][0]["done"] == 2


def test_a_missing_option_refuses_all_jobs(rlg, folder):
    result = rlg("train", "-m", *TINY, "network=mlp,mlpp")
    assert result.code == 2
    assert "Did you mean 'mlp'?" in result.err
    assert list(folder.glob("multirun/*/*/?")) == []


def test_an_interval_needs_a_search(rlg, folder):
    result = rlg("train", "-m", "optimizer.learning_rate=interval(1e-4,1e-2)")
    assert result.code == 2
    assert result.err == (
        "rlg: error: optimizer.learning_rate=interval(1e-4,1e-2): an interval is for a search. Add "
        "hydra/sweeper=optuna, or give values with commas.\n"
    )


def test_a_folder_without_a_sweep_is_refused(rlg, folder):
    for words in (["sweep", "nothing"], ["sweep", ".", "--resume"]):
        result = rlg(*words)
        assert result.code == 2
        assert "rlg train -m" in result.err


def test_the_objective_of_a_job_is_its_last_evaluation(rlg, folder, monkeypatch):
    from rlg.api.sweeps.jobs import Jobs

    found = []
    call = Jobs.__call__
    monkeypatch.setattr(Jobs, "__call__", lambda self, cfg: found.append(call(self, cfg)))
    rlg("train", "-m", *TINY)
    (status,) = folder.glob("multirun/*/*/0/status.json")
    assert found == [json.loads(status.read_text())["last_evaluation"]["mean_reward"]]


def test_a_sweep_over_a_key_that_no_file_lists_needs_no_plus(rlg):
    done = rlg("train", "-m", *TINY, "env.max_episode_steps=9,10", "evaluation.interval=0")
    assert done.code == 0, done.err
    for number, steps in enumerate((9, 10)):
        assert f"job {number} (env.max_episode_steps={steps}): done" in done.out
