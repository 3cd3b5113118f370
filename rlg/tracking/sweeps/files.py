"""`sweep.json` and `job.json`: what a sweep was asked for, and which job has which folder.

Why hashes: a job that is done is kept only if it would be configured in the same way today. Why a
record in every job's folder too: sweepers that choose the next job by the results of the last ones
have no list to write down at the start.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from rlg import __version__
from rlg.errors import SpecError, TrackingError
from rlg.tracking import lock
from rlg.tracking.files import write_atomically
from rlg.tracking.meta import timestamp

SWEEP, JOB, STOP = "sweep.json", "job.json", ".stop"
FORMAT = 1


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


def is_sweep(folder: Path) -> bool:
    return (folder / SWEEP).is_file() or (folder / "multirun.yaml").is_file()


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


def is_running(sweep: Path) -> bool:
    """Whether a process works on the sweep."""
    return lock.owner(sweep) is not None


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
