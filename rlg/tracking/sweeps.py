"""Sweeps on disk: what one was asked for, which job has which folder, and its jobs in rows.

`sweep.json` and `job.json` hold hashes: a job that is done is kept only if it would be configured
in the same way today. Every job's folder has a record too: sweepers that choose the next job by the
results of the last ones have no list to write down at the start. States and figures are read from
files, so they are the same for sweeps that run, were killed, or are done.
"""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import yaml

from rlg import __version__
from rlg.errors import SpecError, TrackingError
from rlg.spelling import flat
from rlg.tracking import lock
from rlg.tracking.files import write_atomically
from rlg.tracking.folder import RunFolder, Status
from rlg.tracking.meta import timestamp

SWEEP, JOB, STOP = "sweep.json", "job.json", ".stop"
FORMAT = 1
DONE, FAILED, RUNNING = "done", "failed", "running"
INTERRUPTED, KILLED, WAITING, MISSING = "interrupted", "killed", "waiting", "not started"


# -- what it was asked for -------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Job:
    """One job: its number, its overrides, and the hash of the configuration they resolve to."""

    number: int
    folder: str  # below the sweep's
    values: tuple[str, ...] = ()  # the swept overrides
    overrides: tuple[str, ...] = ()
    hash: str | None = None  # None: the configuration can't be resolved
    seconds: float = 0.0  # of finished attempts
    attempt: str | None = None  # start of an attempt that is running or was killed

    @property
    def name(self) -> str:
        """For messages: `job 3 (seed=1)`."""
        return f"job {self.number} ({' '.join(self.values or self.overrides)})"

    def spent(self, updated: str) -> float:
        """Seconds of all attempts; one that was killed counts up to its last sign of life."""
        rest = seconds_between(self.attempt, updated) if self.attempt and updated else 0.0
        return self.seconds + max(0.0, rest)

    def write(self, folder: Path) -> None:
        write_atomically(folder / JOB, json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Job | None:
        """The record in a job's folder, if there is a readable one."""
        try:
            return cls.of(json.loads((folder / JOB).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Job:
        lists = {name: tuple(content.get(name, ())) for name in ("values", "overrides")}
        return cls(**_known(cls, content) | lists)


@dataclass(frozen=True, slots=True)
class Plan:
    """The content of `sweep.json`: enough to start the same sweep again, from anywhere."""

    words: tuple[str, ...]
    config_dir: str | None = None
    config_name: str = "train"
    cwd: str = "."
    sweeper: str = "basic"
    direction: str = "maximize"
    as_test: bool = False
    jobs: tuple[Job, ...] = ()  # as far as they are known at the start
    started: str = ""
    rlg: str = __version__
    format: int = FORMAT

    def write(self, sweep: Path) -> None:
        content = asdict(replace(self, started=self.started or timestamp()))
        write_atomically(sweep / SWEEP, json.dumps(content, indent=1) + "\n")

    @classmethod
    def read(cls, sweep: Path) -> Self:
        path = sweep / SWEEP
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            jobs = tuple(Job.of(job) for job in content["jobs"])
            lists = {"words": tuple(content["words"]), "jobs": jobs}
            return cls(**_known(cls, content) | lists)
        except (OSError, ValueError, TypeError, LookupError) as error:
            raise TrackingError(
                f"{path}: no readable record of a sweep ({error}). Start the sweep again: "
                "rlg train -m ..."
            ) from None

    def joined(self, earlier: Plan, has_results: Callable[[Job], bool]) -> Plan:
        """This plan in the folder of an earlier one; an error where a number has changed hands.

        A job without results may be configured differently: a mistake was fixed.
        """
        rest = {job.number: job for job in earlier.jobs}
        for job in self.jobs:
            other = rest.pop(job.number, job)
            if (other.hash, other.folder) == (job.hash, job.folder):
                continue
            if other.values != job.values or has_results(other):
                raise SpecError(_conflict(other, job))
        # Fewer jobs than before: the next resume is still for all of them.
        base = earlier if rest else self
        jobs = sorted((*self.jobs, *rest.values()), key=lambda job: job.number)
        return replace(base, jobs=tuple(jobs), started=earlier.started)


def digest_of(config: Mapping[str, Any], sweep: Path) -> str:
    """The hash of a resolved configuration; where the sweep's folder is makes no difference."""
    text = json.dumps(config, sort_keys=True, default=str)
    for path in (str(sweep.resolve()), str(sweep)):
        text = text.replace(json.dumps(path)[1:-1], "") if len(path) > 1 else text
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def job_folders(sweep: Path) -> list[Path]:
    """Folders of jobs that began, in the order of numbers."""
    found = {
        path.parent
        for pattern in ("*/status.json", "*/*/status.json", f"*/{JOB}", f"*/*/{JOB}")
        for path in sweep.glob(pattern)
    }

    def order(folder: Path) -> tuple[int, str]:
        job = Job.read(folder)
        number = int(folder.name) if folder.name.isdecimal() else 10**9
        return (number if job is None else job.number, str(folder))

    return sorted(found, key=order)


def seconds_between(first: str, last: str) -> float:
    """Of two time stamps."""
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()


def _known(cls: type[Job | Plan], content: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that this version has; others may have more."""
    return {field.name: content[field.name] for field in fields(cls) if field.name in content}


def _conflict(other: Job, job: Job) -> str:
    where = f"hydra.sweep.dir: the folder holds another sweep: job {job.number}"
    way = "Choose another folder, or resume the old sweep: rlg sweep FOLDER --resume"
    if other.values == job.values:
        return f"{where} ({' '.join(job.values)}) was configured differently. {way}"
    old, new = (" ".join(one.values or one.overrides) for one in (other, job))
    return f"{where} is {old} there and {new or 'without overrides'} here. {way}"


# -- what became of it -----------------------------------------------------------------------------
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
    marks = (folder / SWEEP, folder / "multirun.yaml", *(path / JOB for path in folders))
    if not any(mark.is_file() for mark in marks):
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
    running = lock.owner(folder) is not None
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
    run = RunFolder(folder)
    if not run.holds_run:
        return MISSING, None
    status = run.status
    if status.state == RUNNING and run.owner is None:
        status = run.status  # it may have ended since
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
