"""A sweep in rows: the state and the figures of each job, and means over seeds.

Everything is read from files, so it is the same for sweeps that run, were killed, or are done.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from rlg.errors import SpecError
from rlg.spelling import flat
from rlg.tracking import lock
from rlg.tracking.folder import Status
from rlg.tracking.sweeps.files import (
    JOB,
    SWEEP,
    Job,
    Plan,
    is_running,
    is_sweep,
    job_folders,
    seconds_between,
)

DONE, FAILED, RUNNING = "done", "failed", "running"
INTERRUPTED, KILLED, WAITING, MISSING = "interrupted", "killed", "waiting", "not started"


@dataclass(frozen=True, slots=True)
class Row:
    """One job as a table shows it; rewards are mean rewards of evaluations."""

    job: Job
    folder: Path
    state: str
    steps: int = 0
    last: float | None = None
    best: float | None = None
    seconds: float | None = None
    error: str | None = None
    exit_code: int | None = None

    @property
    def objective(self) -> float | None:
        """What sweepers get: the last evaluation of a run that is done, if it is a number."""
        is_number = self.last is not None and not math.isnan(self.last)
        return self.last if is_number and self.state == DONE else None


@dataclass(frozen=True, slots=True)
class Group:
    """Jobs that differ in nothing but the seed."""

    values: tuple[str, ...]
    rewards: tuple[float, ...]  # last evaluations of those that are done
    count: int  # of all its jobs

    @property
    def done(self) -> int:
        return len(self.rewards)

    @property
    def mean(self) -> float | None:
        return statistics.fmean(self.rewards) if self.rewards else None

    @property
    def std(self) -> float | None:
        """Of a sample; none of a single run."""
        return statistics.stdev(self.rewards) if self.done > 1 else None


@dataclass(frozen=True, slots=True)
class Sweep:
    """All rows of a sweep's folder, the best first, those without a result last."""

    folder: Path
    rows: tuple[Row, ...]
    running: bool = False
    plan: Plan | None = None
    groups: tuple[Group, ...] = field(default=())

    @property
    def best(self) -> Row | None:
        return next((row for row in self.rows if row.objective is not None), None)

    def of_state(self, *states: str) -> list[Row]:
        rows = [row for row in self.rows if row.state in states]
        return sorted(rows, key=lambda row: row.job.number)


def read_sweep(folder: Path) -> Sweep:
    """What a sweep's folder says."""
    folders = job_folders(folder) if folder.is_dir() else []
    if not is_sweep(folder) and not any((path / JOB).is_file() for path in folders):
        # Without a record: single runs in one folder are shown as a group, those of several
        # days are not.
        single, folders = folders, [path for path in folders if path.parent == folder]
        if not folders:
            runs = f"It holds single runs ({len(single)}): rlg plot {folder}. " if single else ""
            raise SpecError(
                f"{folder}: not a sweep's folder. {runs}Give the one that `rlg train -m` named, "
                "such as multirun/2030-01-31/12-00-00."
            )
    plan = Plan.read(folder) if (folder / SWEEP).is_file() else None
    running = is_running(folder)
    jobs = {} if plan is None else {folder / job.folder: job for job in plan.jobs}
    for path in folders:
        number = int(path.name) if path.name.isdecimal() else len(jobs)
        jobs[path] = Job.read(path) or jobs.get(path) or Job(number, path.name)
    if any(not job.values for job in jobs.values()):
        jobs = _compared(jobs)
    rows = [_row(job, path, running) for path, job in jobs.items()]
    sign = 1 if plan is not None and plan.direction == "minimize" else -1

    def order(value: float | None, number: int = 0) -> tuple[bool, float, int]:
        return (value is None, 0.0 if value is None else sign * value, number)

    rows.sort(key=lambda row: order(row.objective, row.job.number))
    groups = sorted(_groups(rows), key=lambda group: order(group.mean))
    return Sweep(folder, tuple(rows), running, plan, tuple(groups))


def state_of(folder: Path) -> tuple[str, Status | None]:
    """The state of one run; a run without its process is `killed`."""
    if not (folder / "status.json").exists():
        return MISSING, None
    status = Status.read(folder / "status.json")
    if status.state == RUNNING and lock.owner(folder) is None:
        status = Status.read(folder / "status.json")  # it may have ended since
        return (KILLED if status.state == RUNNING else status.state), status
    return status.state, status


def _row(job: Job, path: Path, running: bool) -> Row:
    state, status = state_of(path)
    if status is None:
        return Row(job, path, WAITING if running else MISSING)
    evaluations = (status.last_evaluation, status.best_evaluation)
    last, best = (None if e is None else float(e["mean_reward"]) for e in evaluations)
    seconds = job.spent(status.updated) or None
    if seconds is None and status.started:  # of a run that was not a job
        seconds = seconds_between(status.started, status.updated)
    return Row(job, path, state, status.steps, last, best, seconds, status.error, status.exit_code)


def _groups(rows: Sequence[Row]) -> list[Group]:
    """Jobs whose seeds were swept."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        values = tuple(word for word in row.job.values if not word.startswith("seed="))
        if values != row.job.values:
            found.setdefault(values, []).append(row)
    return [
        Group(values, tuple(r.objective for r in members if r.objective is not None), len(members))
        for values, members in found.items()
    ]


def _compared(jobs: Mapping[Path, Job]) -> dict[Path, Job]:
    """Jobs of an unknown origin: what differs between their configurations is their values."""
    configs = {path: flat(config_of(path)) for path in jobs}
    keys = differing([config for config in configs.values() if config])
    found = {}
    for path, job in jobs.items():
        values = tuple(f"{key}={configs[path][key]}" for key in keys if key in configs[path])
        found[path] = job if job.values else replace(job, values=values)
    return found


def config_of(run: Path) -> dict[str, Any]:
    """A run's configuration; empty where there is none."""
    try:
        content = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError):
        return {}
    return content if isinstance(content, dict) else {}


def differing(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Paths whose values are not equal in all, in order of appearance."""
    keys = dict.fromkeys(key for config in configs for key in config)
    return [key for key in keys if len({repr(config.get(key)) for config in configs}) > 1]
