"""The task that Hydra calls: one run per job, its result or its error noted at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rlg.cli.composition_errors import explain_resolution
from rlg.cli.exits import DONE, INTERRUPTED, JobsFailedError, explain, report
from rlg.cli.flags import Words
from rlg.cli.folders import note_failure, usable
from rlg.cli.summary import print_job, print_outcome
from rlg.errors import SpecError


class Jobs:
    """The runs of one command; called by Hydra with one configuration at a time."""

    def __init__(self, words: Words, *, shows_all: bool = False) -> None:
        self.words = words
        self.shows_all = shows_all
        self.started = 0
        self.failed: list[str] = []
        self.error: Exception | None = None
        self.exit_code = DONE

    def __call__(self, config: DictConfig) -> float | None:
        """Trains; gives the objective for sweepers, the last evaluation's mean reward."""
        self.started += 1
        hydra = HydraConfig.get()
        folder = Path(hydra.runtime.output_dir)
        # As they were typed: a reference in them is resolved with the configuration.
        overrides: Any = OmegaConf.to_container(hydra.overrides.task, resolve=False)
        job = self._name(hydra, overrides)
        try:
            return self._train(config, folder, overrides, job)
        except Exception as error:
            note_failure(folder, *explain(error))
            if job is None:
                self.error = error  # for the command: Hydra would say something before it
                return None
            report(error, shows_all=self.shows_all, prefix=f"{job}: ")
            self.failed.append(str(hydra.job.num))
            raise JobsFailedError(f"{job} failed; its error is above") from error

    def failure(self, first: JobsFailedError) -> JobsFailedError:
        """What to say at the end of a sweep; of jobs in other processes the first is known only."""
        if not self.failed:
            return first
        count = f"{len(self.failed)} of {self.started} jobs"
        return JobsFailedError(f"{count} failed: {', '.join(self.failed)}. Their errors are above.")

    def _train(
        self, config: DictConfig, folder: Path, overrides: list[str], job: str | None
    ) -> float | None:
        from rlg.api.run import train

        resolved = self._resolved(config)
        source = self.words.config_dir
        flags = [] if source is None else ["--config-dir", str(source)]
        outcome = train(resolved, usable(folder), command=["rlg", "train", *flags, *overrides])
        if job is None:
            print_outcome(outcome)
        else:
            print_job(job, outcome)
        self.exit_code = outcome.exit_code
        if outcome.exit_code == INTERRUPTED and job is not None:
            raise KeyboardInterrupt  # the jobs that would follow are not wanted either
        return None if outcome.evaluation is None else outcome.evaluation.mean_reward

    def _resolved(self, config: DictConfig) -> dict[str, Any]:
        try:
            content: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
        except OmegaConfBaseException as error:
            raise SpecError(explain_resolution(error, self.words)) from error
        return {str(key): value for key, value in content.items()}

    def _name(self, hydra: Any, overrides: list[str]) -> str | None:
        """Number and swept values of a sweep's job."""
        if hydra.mode != RunMode.MULTIRUN:
            return None
        parsed = OverridesParser.create().parse_overrides(self.words.overrides)
        swept = {override.get_key_element() for override in parsed if override.is_sweep_override()}
        values = [word for word in overrides if word.partition("=")[0] in swept]
        return f"job {hydra.job.num} ({' '.join(values or overrides)})"
