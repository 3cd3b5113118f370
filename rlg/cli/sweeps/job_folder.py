"""One job of a sweep in its folder: kept if it is done, resumed if it was cut off, or run anew."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlg.display.readable import short
from rlg.errors import CheckpointError, SpecError
from rlg.tracking.folder import RunFolder
from rlg.tracking.sweeps.files import Job, seconds_between
from rlg.tracking.sweeps.rows import DONE, MISSING, RUNNING, state_of

if TYPE_CHECKING:
    from rlg.api.run import Outcome

# What a run writes; other files in its folder are somebody else's.
FILES = (
    *("status.json", "config.yaml", "meta.json", "metrics.jsonl", "progress.csv"),
    *("graph.svg", "graph.html"),
)
FOLDERS = ("tb", "checkpoints", "best", "plans")


class FolderTakenError(SpecError):
    """A job's folder is another's, whose files nobody may touch."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A job that was done before."""

    job: Job
    folder: Path
    reward: float | None


def run_job(
    job: Job, folder: Path, config: Mapping[str, Any], command: list[str], *, as_test: bool = False
) -> Outcome | Kept:
    """Brings a job to its end from wherever an earlier sweep left it."""
    state, status = state_of(folder)
    job = _recorded(job, folder, state, status)
    if state == DONE:
        return _kept(job, folder)
    started = time.monotonic()
    job = job.began()
    job.write(folder)
    try:
        if state != MISSING:
            outcome = _resumed(job, folder, as_test)
            if outcome is not None:
                return outcome
            clear(folder)
        from rlg.api.run import train

        return train(config, folder, command=command, as_test=as_test)
    finally:
        job.ended(time.monotonic() - started).write(folder)


def clear(folder: Path) -> None:
    """Removes what a run left that has nothing to go on from."""
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    for name in FOLDERS:
        shutil.rmtree(folder / name, ignore_errors=True)


def _recorded(job: Job, folder: Path, state: str, status: Any) -> Job:
    """The job with the time of its earlier attempts; an error if the folder is another's."""
    known = Job.read(folder)
    if state == RUNNING:
        raise FolderTakenError(
            f"{short(folder)}: a process still works on it ({RunFolder(folder).owner}). Wait for "
            "it, or stop it."
        )
    if known is None:
        if state != MISSING:
            raise FolderTakenError(
                f"hydra.sweep.dir: {short(folder)} holds a run of something else. Choose another "
                "folder."
            )
        return job
    if known.hash != job.hash:
        if state == DONE:
            raise FolderTakenError(
                f"hydra.sweep.dir: {short(folder)} holds {known.name}, configured differently. "
                "Choose another folder, or remove it to run it again."
            )
        clear(folder)
        return job
    seconds = known.seconds
    if known.attempt is not None and status is not None and status.updated:
        seconds += max(0.0, seconds_between(known.attempt, status.updated))
    return replace(job, seconds=seconds)


def _kept(job: Job, folder: Path) -> Kept:
    job.write(folder)
    last = RunFolder(folder).status.last_evaluation
    return Kept(job, folder, None if last is None else float(last["mean_reward"]))


def _resumed(job: Job, folder: Path, as_test: bool) -> Outcome | Kept | None:
    """The rest of the run from its newest intact checkpoint; None if it has none."""
    from rlg.api.run import resume
    from rlg.tracking.checkpoints.store import CheckpointStore

    run = RunFolder(folder)
    newest = None
    if run.checkpoints.is_dir():
        with contextlib.suppress(CheckpointError):
            newest = CheckpointStore(run.checkpoints, read_only=True).latest()
    if newest is None:
        return None
    if newest >= _budget(folder):  # killed between the last checkpoint and the note of the end
        with RunFolder.open(folder) as opened:
            opened.finish("done", exit_code=0)
        return _kept(job, folder)
    try:
        return resume(folder, as_test=as_test)
    except CheckpointError:
        return None


def _budget(folder: Path) -> int:
    from rlg.tracking.sweeps.rows import config_of

    return int(config_of(folder).get("total_timesteps", 2**62))
