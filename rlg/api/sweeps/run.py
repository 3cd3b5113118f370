"""The use cases behind `rlg train -m` and `rlg sweep --resume`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from rlg.api.composing.command_line import CommandLine, hydra_text
from rlg.api.composing.compose import as_current, resolved, task_overrides
from rlg.api.composing.errors import explained
from rlg.api.composing.loader import open_hydra
from rlg.api.folders import new_folder, refuse_plugins
from rlg.api.sweeps.jobs import Jobs, Reporter, job_of
from rlg.api.sweeps.optuna import check_optuna, offer_optuna
from rlg.api.sweeps.stopping import Stopping
from rlg.errors import SpecError
from rlg.tracking.lock import FolderLock
from rlg.tracking.sweeps import (
    DONE,
    FAILED,
    MISSING,
    SWEEP,
    Job,
    Plan,
    digest_of,
    read_sweep,
    state_of,
)

DIR = "hydra.sweep.dir"


def run_sweep(line: CommandLine, reporter: Reporter) -> tuple[Path, bool]:
    """Runs what the folder doesn't hold yet; returns the folder, and whether it was interrupted."""
    offer_optuna()
    overrides = [*line.overrides, "hydra.mode=MULTIRUN"]
    is_named = any(word.startswith(f"{DIR}=") for word in line.overrides)
    was_interrupted = False
    with ExitStack() as stack:
        hydra = stack.enter_context(open_hydra(line.config_dir))
        with explained(line):
            config = hydra.compose_config(line.config_name, overrides, RunMode.MULTIRUN)
            check_optuna(str(config.hydra.sweeper._target_))
            if not line.is_typed:
                _refuse_code(config, line)
        place = Path(str(config.hydra.sweep.dir))
        folder = stack.enter_context(new_folder(place, is_named=is_named, key=DIR))
        stack.callback(FolderLock(folder).release)
        in_processes = not str(config.hydra.launcher._target_).endswith("BasicLauncher")
        stopping = stack.enter_context(Stopping(folder, in_processes=in_processes))
        write_plan(hydra, config, folder, line)
        overrides.append(f"{DIR}={hydra_text(str(folder))}")  # composed again, at another second
        try:
            with explained(line):
                hydra.multirun(line.config_name, Jobs(line, reporter), overrides)
        except KeyboardInterrupt:
            was_interrupted = True
        except Exception as error:
            # A process of jobs that died, or a sweeper without a single result.
            rows = read_sweep(folder).rows
            if not any(row.steps or row.state in (DONE, FAILED) for row in rows):
                raise
            if not stopping.requested:
                reporter.failed("", error)
        return folder, was_interrupted or stopping.requested


# -- what it is going to run, written down before the first job starts ----------------------------
def write_plan(hydra: Hydra, config: DictConfig, folder: Path, line: CommandLine) -> None:
    """Writes `sweep.json`; an error if the folder holds another sweep."""
    sweeper = config.hydra.sweeper
    name = str(sweeper._target_).rpartition(".")[2]
    is_basic = name == "BasicSweeper"
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


def _jobs(hydra: Hydra, config: DictConfig, folder: Path, line: CommandLine) -> Iterator[Job]:
    """All jobs of the basic sweeper, in its order; what can't be composed is Hydra's to say."""
    params = config.hydra.sweeper.get("params") or {}
    words = [*(f"{key}={value}" for key, value in params.items()), *task_overrides(config)]
    with as_current(config), suppress(HydraException, OmegaConfBaseException):
        parsed = OverridesParser.create().parse_overrides(words)
        for override in parsed:
            if override.is_interval_sweep():
                raise SpecError(
                    f"{override.input_line}: an interval is for a search. Add "
                    "hydra/sweeper=optuna, or give values with commas."
                )
        (batch,) = BasicSweeper.split_arguments(parsed, max_batch_size=None)
        for number, overrides in enumerate(batch):
            composed = hydra.config_loader.load_sweep_config(config, overrides)
            with open_dict(composed):
                composed.hydra.job.id = composed.hydra.job.num = number
            HydraConfig.instance().set_config(composed)
            yield replace(job_of(line), hash=_digest(composed, folder))


def _digest(config: DictConfig, folder: Path) -> str | None:
    try:
        return digest_of(resolved(config), folder)
    except OmegaConfBaseException:  # the job itself will say it, and fail alone
        return None


# -- resuming --------------------------------------------------------------------------------------
def line_of(
    folder: Path, overrides: list[str], *, trust_plugins: bool = False
) -> tuple[CommandLine, Path]:
    """The command line that resumes a sweep, and the folder to give it in."""
    if not (folder / SWEEP).is_file():
        raise SpecError(
            f"{folder}: no {SWEEP} in it, so it can't be resumed. Give the folder that "
            "`rlg train -m` named."
        )
    wrong = [word for word in overrides if not word.startswith(("hydra.", "hydra/"))]
    if wrong:
        raise SpecError(
            f"{wrong[0]}: a sweep resumes with the values it began with; only Hydra's own keys may "
            "change, such as hydra.launcher.n_jobs=4. For other values start a sweep of its own."
        )
    plan = Plan.read(folder)
    kept = [word for word in plan.words if not word.startswith(f"{DIR}=")]
    # Written in the old place: configuration folders and plugins are found from there.
    where = Path(plan.cwd)
    target = folder if where == Path.cwd() else folder.resolve()
    line = CommandLine(
        [*kept, *overrides, f"{DIR}={hydra_text(str(target))}"],
        None if plan.config_dir is None else Path(plan.config_dir),
        plan.config_name,
        is_typed=trust_plugins,
        as_test=plan.as_test,
    )
    return line, where if where.is_dir() else Path.cwd()


def _refuse_code(config: DictConfig, line: CommandLine) -> None:
    """A sweep from elsewhere may name plugins, or targets for Hydra to call."""
    plugins = OmegaConf.to_container(config.plugins) if config.get("plugins") else []
    words = [word for word in line.overrides if word.startswith("plugins=") or "_target_" in word]
    refuse_plugins(plugins or words, SWEEP)
