"""What a sweep's folder says: which jobs are the same, what became of each, and which is best."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from rlg.errors import SpecError, TrackingError
from rlg.tracking import lock
from rlg.tracking.folder import RunFolder
from rlg.tracking.sweeps import (
    Job,
    Plan,
    Row,
    digest_of,
    job_folders,
    read_sweep,
    state_of,
)

SEEDS = tuple(Job(n, str(n), (f"seed={n}",), hash=f"h{n}") for n in range(3))
PLAN = Plan(("seed=0,1,2",), jobs=SEEDS)


def run(path: Path, *, state: str = "done", reward: float | None = None) -> Path:
    """A run's folder in this state, with the reward of one evaluation."""
    with RunFolder.create(path, "seed: 0\n", seed=0) as folder:
        note = None if reward is None else {"step": 10, "mean_reward": reward}
        folder.update(steps=10, last_evaluation=note, best_evaluation=note)
    set_status(path, state=state)
    return path


def set_status(path: Path, **changes) -> None:
    content = json.loads((path / "status.json").read_text())
    (path / "status.json").write_text(json.dumps(content | changes))


# -- the same configuration -----------------------------------------------------------------------
def test_a_digest_is_that_of_the_values_whatever_their_order():
    where = Path("/sweeps/a")
    assert digest_of({"a": 1, "b": 2}, where) == digest_of({"b": 2, "a": 1}, where)
    assert digest_of({"a": 1}, where) != digest_of({"a": 2}, where)


@pytest.mark.parametrize("name", ["moved", "é", 'quo"ted', "back\\slash"])
def test_a_digest_stays_when_the_folder_moves(name):
    digests = {
        digest_of({"checkpoints": f"{where}/0/checkpoints"}, where)
        for where in (Path("/sweeps/first"), Path("/other") / name)
    }
    assert len(digests) == 1


# -- a plan in the folder of an earlier one -------------------------------------------------------
def test_a_plan_is_read_as_it_was_written(tmp_path):
    PLAN.write(tmp_path)
    assert replace(Plan.read(tmp_path), started="") == PLAN
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(TrackingError, match="no readable record of a sweep"):
        Plan.read(tmp_path)


def test_a_job_with_results_must_be_configured_as_it_was():
    changed = replace(PLAN, jobs=(replace(SEEDS[0], hash="other"), *SEEDS[1:]))
    with pytest.raises(SpecError, match=r"job 0 \(seed=0\) was configured differently"):
        changed.joined(PLAN, lambda job: True)
    assert changed.joined(PLAN, lambda job: False).jobs[0].hash == "other"


def test_a_number_of_another_job_is_refused_even_without_results():
    other = replace(PLAN, jobs=(replace(SEEDS[0], values=("seed=7",), hash="h7"),))
    with pytest.raises(SpecError, match="job 0 is seed=0 there and seed=7 here"):
        other.joined(PLAN, lambda job: False)


def test_the_record_goes_on_for_all_jobs_when_fewer_are_asked_for():
    fewer = Plan(("seed=0",), jobs=SEEDS[:1])
    joined = fewer.joined(replace(PLAN, started="then"), lambda job: True)
    assert (joined.words, joined.jobs, joined.started) == (PLAN.words, SEEDS, "then")
    assert PLAN.joined(fewer, lambda job: True).words == PLAN.words


# -- what became of each job ----------------------------------------------------------------------
def test_a_run_without_its_process_was_killed(tmp_path):
    assert state_of(tmp_path)[0] == "not started"
    path = run(tmp_path / "0", state="running")
    assert state_of(path)[0] == "killed"
    held = lock.FolderLock(path)
    assert state_of(path)[0] == "running"
    held.release()


def test_a_run_that_ends_while_it_is_looked_at_was_not_killed(tmp_path, monkeypatch):
    path = run(tmp_path / "0", state="running")

    def ends(folder: Path) -> None:
        set_status(folder, state="done")

    monkeypatch.setattr(lock, "owner", ends)
    state, status = state_of(path)
    assert (state, status.state) == ("done", "done")


def test_single_runs_of_several_days_are_no_sweep(tmp_path):
    for name in ("a", "b"):
        run(tmp_path / "outputs" / "day" / name, reward=1.0)
    with pytest.raises(SpecError, match=r"not a sweep's folder. It holds single runs \(2\)"):
        read_sweep(tmp_path / "outputs")
    assert len(read_sweep(tmp_path / "outputs" / "day").rows) == 2  # side by side
    with pytest.raises(SpecError, match=r"not a sweep's folder. Give the one"):
        read_sweep(tmp_path / "nothing")
    (tmp_path / "outputs" / "multirun.yaml").write_text("")  # of a sweep by Hydra alone
    assert len(read_sweep(tmp_path / "outputs").rows) == 2


def test_a_sweep_runs_as_long_as_its_folder_is_locked(tmp_path):
    PLAN.write(tmp_path)
    assert not read_sweep(tmp_path).running
    assert {row.state for row in read_sweep(tmp_path).rows} == {"not started"}
    held = lock.FolderLock(tmp_path)
    assert read_sweep(tmp_path).running
    assert {row.state for row in read_sweep(tmp_path).rows} == {"waiting"}
    held.release()


def test_seconds_are_those_of_all_attempts_without_pauses(tmp_path):
    def seconds(job: Job) -> float | None:
        job.write(path)
        return read_sweep(tmp_path).rows[0].seconds

    path = run(tmp_path / "0")
    set_status(path, started="2030-01-01T00:00:00Z", updated="2030-01-02T00:00:07Z")
    assert seconds(replace(SEEDS[0], seconds=20.0)) == 20.0
    assert seconds(replace(SEEDS[0], seconds=20.0, attempt="2030-01-02T00:00:02Z")) == 25.0
    assert seconds(SEEDS[0]) == 86_407.0


@pytest.mark.parametrize(
    ("direction", "order", "means"),
    [("maximize", [1, 2, 0, 3], [6.0, 2.0]), ("minimize", [0, 2, 1, 3], [2.0, 6.0])],
)
def test_the_best_job_and_the_best_mean_come_first(tmp_path, direction, order, means):
    jobs = [Job(n, str(n), (f"a={n % 2}", f"seed={n}")) for n in range(4)]
    replace(PLAN, jobs=tuple(jobs), direction=direction).write(tmp_path)
    for job, reward in zip(jobs, (1.0, 6.0, 3.0, 99.0), strict=True):
        run(tmp_path / job.folder, reward=reward, state="failed" if reward > 50 else "done")
    sweep = read_sweep(tmp_path)
    assert [row.job.number for row in sweep.rows] == order
    assert sweep.best.job.number == order[0]
    assert [group.mean for group in sweep.groups] == means
    assert [(len(group.rewards), group.count) for group in sweep.groups if group.mean == 6] == [
        (1, 2)
    ]


def test_only_a_run_that_is_done_has_an_objective(tmp_path):
    assert Row(SEEDS[0], tmp_path, "done", last=2.0).objective == 2.0
    assert Row(SEEDS[0], tmp_path, "interrupted", last=2.0).objective is None
    assert Row(SEEDS[0], tmp_path, "done", last=math.nan).objective is None


def test_a_reward_that_is_not_a_number_neither_leads_nor_spoils_a_mean(tmp_path):
    PLAN.write(tmp_path)
    for job, reward in zip(SEEDS, (math.nan, 4.0, 6.0), strict=True):
        run(tmp_path / job.folder, reward=reward)
    sweep = read_sweep(tmp_path)
    assert [row.job.number for row in sweep.rows] == [2, 1, 0]
    assert [(group.mean, len(group.rewards)) for group in sweep.groups] == [(5.0, 2)]


def test_folders_come_in_the_order_of_numbers(tmp_path):
    for name in ("10", "9", "b"):
        run(tmp_path / name)
    Job(2, "b").write(tmp_path / "b")
    assert [folder.name for folder in job_folders(tmp_path)] == ["b", "9", "10"]
