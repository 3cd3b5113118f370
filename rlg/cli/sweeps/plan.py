"""What a sweep is going to run, written down before the first job starts.

Hydra calls the planner when it has composed a sweep and before it launches anything. A callback's
ordinary exceptions become warnings there, so what must stop the sweep is no ordinary exception.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from rlg.cli.composing.flags import Words
from rlg.cli.sweeps.stopping import Stopping
from rlg.errors import RLGError, SpecError
from rlg.tracking.errors import TrackingError
from rlg.tracking.lock import FolderLock
from rlg.tracking.sweeps.files import SWEEP, Job, Plan, digest_of
from rlg.tracking.sweeps.rows import FAILED, MISSING, state_of

OPTUNA = "hydra_plugins.hydra_optuna_sweeper"
BASIC = ("BasicSweeper", "BasicLauncher")


class SweepRefused(BaseException):
    """Comes out of Hydra unchanged; `error` says why the sweep can't begin."""

    def __init__(self, error: RLGError) -> None:
        super().__init__(str(error))
        self.error = error


class Sweeping:
    """One command's sweep, from the plan to the end; without `-m` nothing ever begins."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.folder: Path | None = None
        self.stopping = Stopping()
        self._lock: FolderLock | None = None

    def begin(self, config: DictConfig) -> None:
        """Takes the sweep's folder and writes the plan into it."""
        hydra = config.hydra
        sweeper, launcher = (str(hydra[part]._target_) for part in ("sweeper", "launcher"))
        _check_optuna(sweeper)
        folder = Path(str(hydra.sweep.dir))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = FolderLock(folder)
        except OSError as error:
            raise TrackingError(
                f"{error.filename}: {error.strerror}. Choose another folder: hydra.sweep.dir=..."
            ) from None
        is_basic = sweeper.endswith(BASIC[0])
        if is_basic:
            _check_intervals(self.words)
        plan = Plan(
            words=tuple(self.words.overrides),
            config_dir=_absolute(self.words.config_dir),
            config_name=self.words.config_name,
            cwd=str(Path.cwd()),
            sweeper=sweeper.rpartition(".")[2],
            direction=_direction(hydra.sweeper),
            as_test=self.words.as_test,
            jobs=tuple(_jobs(config, folder, self.words)) if is_basic else (),
        )
        if (folder / SWEEP).exists():
            plan = plan.joined(Plan.read(folder), lambda job: _has_results(folder / job.folder))
        plan.write(folder)
        self.folder = folder
        self.stopping.watch(folder, in_processes=not launcher.endswith(BASIC[1]))

    def close(self) -> None:
        self.stopping.close()
        if self._lock is not None:
            self._lock.release()


class Planner(Callback):
    """Hydra's callback, see `conf/train.yaml`; it plans the sweep of the command that runs."""

    current: ClassVar[Sweeping | None] = None

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        if Planner.current is None:
            return
        try:
            Planner.current.begin(config)
        except RLGError as error:
            raise SweepRefused(error) from error


@contextmanager
def planned(words: Words) -> Iterator[Sweeping]:
    """While entered, a sweep that Hydra starts is planned, locked and can be stopped."""
    before, Planner.current = Planner.current, Sweeping(words)
    try:
        yield Planner.current
    finally:
        Planner.current.close()
        Planner.current = before


def swept_words(hydra: Any, words: Words, overrides: Sequence[str]) -> tuple[str, ...]:
    """Those of a job's overrides that the sweep chose."""
    params = OmegaConf.select(hydra, "sweeper.params") or {}
    parsed = OverridesParser.create().parse_overrides(words.overrides)
    swept = {override.get_key_element() for override in parsed if override.is_sweep_override()}
    swept |= {str(key) for key in params}
    return tuple(word for word in overrides if word.partition("=")[0] in swept)


def resolved(config: DictConfig) -> dict[str, Any]:
    """The configuration without Hydra's own part, with all references replaced."""
    own = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    content: Any = OmegaConf.to_container(own, resolve=True, throw_on_missing=True)
    return {str(key): value for key, value in content.items()}


def _jobs(config: DictConfig, folder: Path, words: Words) -> Iterator[Job]:
    """All jobs of the basic sweeper, by its order; what can't be composed is Hydra's to say."""
    params = config.hydra.sweeper.get("params") or {}
    given = [f"{key}={value}" for key, value in params.items()]
    given += list(OmegaConf.to_container(config.hydra.overrides.task, resolve=False))  # type: ignore[arg-type]
    try:
        batches = _product(given)
    except HydraException:
        return
    loader = GlobalHydra.instance().config_loader()
    before = HydraConfig.instance().cfg
    try:
        for number, overrides in enumerate(batches):
            composed = loader.load_sweep_config(config, list(overrides))
            with open_dict(composed):
                composed.hydra.job.id = composed.hydra.job.num = number
            HydraConfig.instance().set_config(composed)
            values = swept_words(config.hydra, words, overrides)
            subdir = str(composed.hydra.sweep.subdir)
            yield Job(number, subdir, values, overrides, _digest(composed, folder))
    except (HydraException, OmegaConfBaseException):
        return
    finally:
        HydraConfig.instance().cfg = before


def _product(words: Sequence[str]) -> list[tuple[str, ...]]:
    choices: dict[str, list[str]] = {}
    for override in OverridesParser.create().parse_overrides(list(words)):
        key = override.get_key_element()
        if override.is_discrete_sweep():
            choices[key] = [f"{key}={value}" for value in override.sweep_string_iterator()]
        else:
            choices[key] = [f"{key}={override.get_value_element_as_str()}"]
    return list(itertools.product(*choices.values()))


def _digest(config: DictConfig, folder: Path) -> str | None:
    try:
        return digest_of(resolved(config), folder)
    except OmegaConfBaseException:  # the job itself will say it, and fail alone
        return None


def _check_intervals(words: Words) -> None:
    try:
        parsed = OverridesParser.create().parse_overrides(words.overrides)
    except HydraException:  # Hydra says it
        return
    for override in parsed:
        if override.is_interval_sweep():
            raise SpecError(
                f"{override.input_line}: an interval is for a search. Add hydra/sweeper=optuna, or "
                "give values with commas."
            )


def _has_results(folder: Path) -> bool:
    return state_of(folder)[0] not in (MISSING, FAILED)


def _direction(sweeper: Any) -> str:
    value = sweeper.get("direction", "maximize")
    return str(getattr(value, "name", value))


def _absolute(path: Path | None) -> str | None:
    return None if path is None else str(path.resolve())


def _check_optuna(sweeper: str) -> None:
    if not sweeper.startswith(OPTUNA):
        return
    try:
        is_there = find_spec(OPTUNA) is not None and find_spec("optuna") is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        raise SpecError(
            "hydra/sweeper=optuna: it needs an extra. Install it with pip install 'rlg[optuna]'."
        )
    optuna = import_module("optuna")
    # What becomes of trials is in the table; a study's name and failures need no lines besides.
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    logging.getLogger(OPTUNA).setLevel(logging.CRITICAL + 1)
