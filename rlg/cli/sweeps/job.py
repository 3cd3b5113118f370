"""The task that Hydra calls: one run per job, its result or its error noted at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any, ClassVar

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rlg.cli.composing.errors import explain_resolution
from rlg.cli.composing.flags import Words
from rlg.cli.exits import BAD_CONFIGURATION, DONE, INTERRUPTED, explain, report
from rlg.cli.summary import print_failure, print_job, print_kept, print_outcome
from rlg.cli.sweeps.named_lines import NamedLines
from rlg.cli.sweeps.plan import resolved, swept_words
from rlg.cli.sweeps.refused import discard, note_failure, usable
from rlg.cli.sweeps.stopping import Worker, share_threads
from rlg.cli.waiting import beginning, waiting
from rlg.errors import SpecError
from rlg.tracking.sweeps.files import Job, digest_of


class Jobs:
    """The runs of one command; called by Hydra with one configuration at a time.

    A job of a sweep never raises, whatever happens to it: its folder says how it ended, the others
    go on, and sweepers get no value. Only an interruption ends a sweep.
    """

    _worker: ClassVar[Worker | None] = None  # of this process, if jobs run in several

    def __init__(self, words: Words, *, shows_all: bool = False) -> None:
        self.words = words
        self.shows_all = shows_all
        self.error: Exception | None = None
        self.exit_code = DONE
        self._sweep_process = os.getpid()

    def __call__(self, config: DictConfig) -> float | None:
        """Trains; gives the objective for sweepers, the last evaluation's mean reward."""
        hydra = HydraConfig.get()
        # As they were typed: a reference in them is resolved with the configuration.
        overrides: Any = OmegaConf.to_container(hydra.overrides.task, resolve=False)
        folder = Path(hydra.runtime.output_dir)
        if hydra.mode != RunMode.MULTIRUN:
            return self._single(config, folder, overrides)
        with self._process(hydra) as may_begin:
            return self._swept(hydra, config, folder, overrides) if may_begin else None

    def _single(self, config: DictConfig, folder: Path, overrides: list[str]) -> float | None:
        from rlg.api.run import train

        try:
            content = self._resolved(config)
            command, as_test = self._command(overrides), self.words.as_test
            with waiting(beginning(content)):
                outcome = train(content, usable(folder), command=command, as_test=as_test)
        except Exception as error:  # noqa: BLE001 kept: Hydra would say something before it
            self._failed(folder, error)
            return None
        print_outcome(outcome)
        self.exit_code = outcome.exit_code
        return None if outcome.evaluation is None else outcome.evaluation.mean_reward

    def _failed(self, folder: Path, error: Exception) -> None:
        self.error = error
        line, code = explain(error)
        is_named = any(word.startswith("hydra.run.dir=") for word in self.words.overrides)
        if code == BAD_CONFIGURATION and not is_named:
            discard(folder)  # a mistyped word is no run
        note_failure(folder, line, code)
        print_failure(folder, error)

    def _swept(
        self, hydra: Any, config: DictConfig, folder: Path, overrides: list[str]
    ) -> float | None:
        from rlg.cli.sweeps.job_folder import FolderTakenError, Kept, run_job

        sweep = Path(hydra.sweep.dir)
        values = swept_words(hydra, self.words, overrides)
        subdir = os.path.relpath(folder, sweep.resolve())
        job = Job(int(hydra.job.num), subdir, values, tuple(overrides))
        try:
            content = self._resolved(config)
            job = Job(job.number, subdir, values, tuple(overrides), digest_of(content, sweep))
            command, as_test = self._command(overrides), self.words.as_test
            with waiting(beginning(content)):
                outcome = run_job(job, folder, content, command, as_test=as_test)
        except Exception as error:  # noqa: BLE001 a job fails alone
            if not isinstance(error, FolderTakenError):
                if Job.read(folder) is None:
                    job.write(folder)
                note_failure(folder, *explain(error))
            report(error, shows_all=self.shows_all, prefix=f"{job.name}: ")
            return None
        if isinstance(outcome, Kept):
            print_kept(outcome)
            return outcome.reward
        print_job(job.name, outcome)
        if outcome.exit_code == INTERRUPTED:
            raise KeyboardInterrupt  # the jobs that would follow are not wanted either
        return None if outcome.evaluation is None else outcome.evaluation.mean_reward

    @contextmanager
    def _process(self, hydra: Any) -> Iterator[bool]:
        """Whether a job may begin here; in a process of its own, an interruption ends only it."""
        if os.getpid() == self._sweep_process:
            yield True
            return
        if Jobs._worker is None:
            Jobs._worker = Worker(self._sweep_process)
            share_threads(int(hydra.launcher.get("n_jobs", 1)))
        # Lines of several processes come mixed: each says whose it is.
        named = NamedLines(sys.stderr, f"job {hydra.job.num}: ")
        try:
            with Jobs._worker.job(Path(hydra.sweep.dir)) as may_begin, redirect_stderr(named):
                yield may_begin
        except KeyboardInterrupt:
            Jobs._worker.stopped = True

    def _command(self, overrides: list[str]) -> list[str]:
        source = self.words.config_dir
        flags = [] if source is None else ["--config-dir", str(source)]
        flags += ["--as-test"] if self.words.as_test else []
        return ["rlg", "train", *flags, *overrides]

    def _resolved(self, config: DictConfig) -> dict[str, Any]:
        try:
            return resolved(config)
        except OmegaConfBaseException as error:
            raise SpecError(explain_resolution(error, self.words)) from error
