"""What a sweep is going to run, written down before the first job starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from rlg.api.composing.command_line import CommandLine
from rlg.api.composing.compose import resolved, task_overrides
from rlg.api.composing.loader import canonical
from rlg.errors import SpecError
from rlg.tracking.sweeps.files import SWEEP, Job, Plan, digest_of
from rlg.tracking.sweeps.rows import FAILED, MISSING, state_of


def write_plan(hydra: Hydra, config: DictConfig, folder: Path, line: CommandLine) -> None:
    """Writes `sweep.json`; an error if the folder holds another sweep."""
    sweeper = config.hydra.sweeper
    name = str(sweeper._target_).rpartition(".")[2]
    is_basic = name == "BasicSweeper"
    if is_basic:
        _check_intervals(line)
    direction = sweeper.get("direction", "maximize")
    plan = Plan(
        words=tuple(line.overrides),
        config_dir=None if line.config_dir is None else str(line.config_dir.resolve()),
        config_name=line.config_name,
        cwd=str(Path.cwd()),
        sweeper=name,
        direction=str(getattr(direction, "name", direction)),
        as_test=line.as_test,
        jobs=tuple(_jobs(hydra, config, folder, line)) if is_basic else (),
    )
    if (folder / SWEEP).exists():
        without = (MISSING, FAILED)  # results
        plan = plan.joined(
            Plan.read(folder), lambda job: state_of(folder / job.folder)[0] not in without
        )
    plan.write(folder)


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


def _jobs(hydra: Hydra, config: DictConfig, folder: Path, line: CommandLine) -> Iterator[Job]:
    """All jobs of the basic sweeper, in its order; what can't be composed is Hydra's to say."""
    params = config.hydra.sweeper.get("params") or {}
    before = HydraConfig.instance().cfg
    try:
        words = [*(f"{key}={value}" for key, value in params.items()), *task_overrides(config)]
        parsed = OverridesParser.create().parse_overrides(words)
        (batch,) = BasicSweeper.split_arguments(parsed, max_batch_size=None)
        for number, overrides in enumerate(batch):
            composed = hydra.config_loader.load_sweep_config(config, overrides)
            with open_dict(composed):
                composed.hydra.job.id = composed.hydra.job.num = number
            HydraConfig.instance().set_config(composed)
            yield replace(job_of(line), hash=_digest(composed, folder))
    except (HydraException, OmegaConfBaseException):
        return
    finally:
        HydraConfig.instance().cfg = before


def _digest(config: DictConfig, folder: Path) -> str | None:
    try:
        return digest_of(resolved(config), folder)
    except OmegaConfBaseException:  # the job itself will say it, and fail alone
        return None


def _check_intervals(line: CommandLine) -> None:
    try:
        parsed = OverridesParser.create().parse_overrides(line.overrides)
    except HydraException:  # Hydra says it
        return
    for override in parsed:
        if override.is_interval_sweep():
            raise SpecError(
                f"{override.input_line}: an interval is for a search. Add hydra/sweeper=optuna, or "
                "give values with commas."
            )
