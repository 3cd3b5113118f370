"""The jobs of a sweep: the task that Hydra calls, and what becomes of a job in its folder."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from rlg.api.composing.command_line import CommandLine
from rlg.api.composing.compose import command_of, resolved, task_overrides
from rlg.api.composing.errors import explained
from rlg.api.composing.loader import canonical
from rlg.api.phases import INTERRUPTED, exit_code_of
from rlg.api.run import OnStart, Outcome, Start, resume, train
from rlg.api.sweeps.stopping import NamedLines, worker_of
from rlg.backends.threads import share_threads
from rlg.display.readable import short
from rlg.errors import CheckpointError, SpecError, error_line
from rlg.tracking.checkpoints.store import BrokenCheckpointError, CheckpointStore
from rlg.tracking.folder import RunFolder
from rlg.tracking.meta import timestamp
from rlg.tracking.sweeps import DONE, MISSING, RUNNING, Job, config_of, digest_of, state_of


class FolderTakenError(SpecError):
    """The folder belongs to another run, whose files nobody may touch."""


@dataclass(frozen=True, slots=True)
class AlreadyDone:
    """A job that was done before."""

    folder: Path
    reward: float | None


class Reporter(Protocol):
    """Says what becomes of jobs; it is pickled where jobs run in processes of their own."""

    def loading(self, config: Mapping[str, Any]) -> AbstractContextManager[None]:
        """Around the preparation and the run of a job."""

    def started(self, name: str, start: Start) -> None: ...

    def ended(self, job: Job, outcome: Outcome | AlreadyDone) -> None: ...

    def failed(self, name: str, error: Exception) -> None: ...


class Jobs:
    """The runs of one sweep; called by Hydra with one configuration at a time.

    A job never raises, whatever happens to it: its folder says how it ended, the others continue,
    and sweepers get no value. Only an interruption ends a sweep.
    """

    def __init__(self, line: CommandLine, reporter: Reporter) -> None:
        self.line = line
        self.reporter = reporter
        self._sweep_process = os.getpid()

    def __call__(self, config: DictConfig) -> float | None:
        """Trains; returns the objective for sweepers, the last evaluation's mean reward."""
        with self._process() as may_begin:
            return self._run(config) if may_begin else None

    def _run(self, config: DictConfig) -> float | None:
        hydra = HydraConfig.get()
        folder, sweep = Path(hydra.runtime.output_dir), Path(hydra.sweep.dir)
        job = job_of(self.line)
        try:
            with explained(self.line):
                content = resolved(config)
            job = replace(job, hash=digest_of(content, sweep))
            with self.reporter.loading(content):
                started = partial(self.reporter.started, job.name)
                outcome = run_job(job, folder, content, self.line, started)
        except Exception as error:  # noqa: BLE001 a job fails alone
            if not isinstance(error, FolderTakenError):
                if Job.read(folder) is None:
                    job.write(folder)
                RunFolder.mark_failed(folder, error_line(error), exit_code_of(error))
            self.reporter.failed(job.name, error)
            return None
        self.reporter.ended(job, outcome)
        if isinstance(outcome, AlreadyDone):
            return outcome.reward
        if outcome.exit_code == INTERRUPTED:
            raise KeyboardInterrupt  # the jobs that would follow are not wanted either
        return None if outcome.evaluation is None else outcome.evaluation.mean_reward

    @contextmanager
    def _process(self) -> Iterator[bool]:
        """Whether a job may begin here; in a process of its own, an interruption ends only it."""
        if os.getpid() == self._sweep_process:
            yield True
            return
        hydra = HydraConfig.get()
        share_threads(int(hydra.launcher.get("n_jobs", 1)))
        worker = worker_of(self._sweep_process)
        # Lines of several processes come mixed: each says whose it is.
        named = NamedLines(sys.stderr, f"job {hydra.job.num}: ")
        try:
            with worker.job(Path(hydra.sweep.dir)) as may_begin, redirect_stderr(named):
                yield may_begin
        except KeyboardInterrupt:
            worker.stopped = True


def job_of(line: CommandLine) -> Job:
    """The job that Hydra has composed last, without its hash."""
    hydra: Any = HydraConfig.get()
    params = OmegaConf.select(hydra, "sweeper.params") or {}
    parsed = OverridesParser.create().parse_overrides(canonical(line.overrides))
    swept = {override.key_or_group for override in parsed if override.is_sweep_override()}
    swept |= {str(key) for key in params}
    overrides = tuple(task_overrides(HydraConfig.instance().cfg))  # type: ignore[arg-type]
    # The loader adds a plus to keys that no file lists.
    words = [word.lstrip("+") for word in overrides]
    values = tuple(word for word in words if word.partition("=")[0] in swept)
    return Job(int(hydra.job.num), str(hydra.sweep.subdir), values, overrides)


def run_job(
    job: Job, folder: Path, config: Mapping[str, Any], line: CommandLine, on_start: OnStart
) -> Outcome | AlreadyDone:
    """Runs, resumes or skips a job, as an earlier sweep left it."""
    state, status = state_of(folder)
    job = _recorded(job, folder, state, status)
    if state == DONE:
        job.write(folder)
        return _already_done(folder)
    started = time.monotonic()
    replace(job, attempt=timestamp()).write(folder)
    try:
        if state != MISSING:
            outcome = _resumed(folder, line.as_test, set(config.get("plugins") or ()))
            if outcome is not None:
                return outcome
            RunFolder(folder).clear()
        command = command_of(line, job.overrides)
        return train(config, folder, command, as_test=line.as_test, on_start=on_start)
    finally:
        replace(job, seconds=job.seconds + time.monotonic() - started).write(folder)


def _recorded(job: Job, folder: Path, state: str, status: Any) -> Job:
    """The job with the time of its earlier attempts; an error if the folder is another's."""
    known = Job.read(folder)
    if state == RUNNING:
        raise FolderTakenError(
            f"{short(folder)}: in use by process {RunFolder(folder).owner}. Wait for it, or stop "
            "it."
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
        RunFolder(folder).clear()
        return job
    return replace(job, seconds=known.spent("" if status is None else status.updated))


def _already_done(folder: Path) -> AlreadyDone:
    last = RunFolder(folder).status.last_evaluation
    return AlreadyDone(folder, None if last is None else float(last["mean_reward"]))


def _resumed(folder: Path, as_test: bool, plugins: set[str]) -> Outcome | AlreadyDone | None:
    """The rest of the run from its newest intact checkpoint; None if it has none."""
    run = RunFolder(folder)
    newest = None
    if run.checkpoints.is_dir():
        with suppress(CheckpointError):
            newest = CheckpointStore(run.checkpoints, read_only=True).latest()
    if newest is None:
        return None
    # Killed between the last checkpoint and the note of the end?
    config = config_of(folder)
    if newest >= int(config.get("total_timesteps", 2**62)):
        with RunFolder.open(folder) as opened:
            opened.finish("done", exit_code=0)
        return _already_done(folder)
    try:
        is_typed = set(config.get("plugins") or ()) <= plugins
        return resume(folder, as_test=as_test, trust_plugins=is_typed)
    except BrokenCheckpointError:
        return None
