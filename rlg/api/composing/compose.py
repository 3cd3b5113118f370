"""Composes configurations, of new runs and of resumed ones, and says where values come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra import compose
from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.utils import _save_config, configure_log, env_override
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from rlg.api.composing.command_line import CommandLine
from rlg.api.composing.errors import explained, option_line
from rlg.api.composing.loader import open_hydra, refuse_unused
from rlg.api.config.groups import groups
from rlg.api.config.named_envs import NamedEnvs
from rlg.api.folders import RUN_DIR, new_folder, run_config
from rlg.errors import SpecError
from rlg.spelling import did_you_mean, flat, nearest_path, paths

COMMAND_LINE = "command line"
# A run's episodes and random numbers come from these and continue where they were. Whether the
# checkpoint fits other changes, it says itself.
FIXED = ("env", "seed")


def composed(line: CommandLine) -> dict[str, Any]:
    """The configuration as `rlg train` would get it, resolved."""
    with explained(line), open_hydra(line.config_dir):
        config = compose(line.config_name, overrides=line.overrides)
        refuse_unused(config, line.overrides)
        return resolved(config)


def resolved(config: DictConfig) -> dict[str, Any]:
    """The configuration without Hydra's own part, with all references replaced."""
    content: Any = OmegaConf.to_container(_own(config), resolve=True, throw_on_missing=True)
    return {str(key): value for key, value in content.items()}


def _own(config: DictConfig) -> DictConfig:
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


# -- single runs -----------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class NewRun:
    """A run that can begin: resolved configuration, folder, and the command to repeat it."""

    config: dict[str, Any]
    folder: Path
    command: list[str]


@contextmanager
def new_run(line: CommandLine) -> Iterator[NewRun]:
    """Composes a single run and makes its folder, with what Hydra's users expect around it.

    `.hydra/` in the folder, `${hydra:runtime.output_dir}`, `hydra.job.env_set`, `hydra.job.chdir`,
    job logging and callbacks.
    """
    with explained(line), open_hydra(line.config_dir):
        overrides = [*line.overrides, "hydra.mode=RUN"]
        config = compose(line.config_name, overrides=overrides, return_hydra_config=True)
        refuse_unused(config, line.overrides)
    is_named = any(override.startswith(f"{RUN_DIR}=") for override in line.overrides)
    with as_current(config):
        with explained(line):
            path = Path(str(config.hydra.run.dir))
            if not config.hydra.run.dir:
                raise SpecError(f"{RUN_DIR}: expected the name of a folder, got ''.")
        with new_folder(path, is_named=is_named) as folder:
            with explained(line):
                content = _begin(config, folder)
                callbacks = Callbacks(config)
            callbacks.on_run_start(config=config, config_name=line.config_name)
            command = command_of(line, task_overrides(config))
            run = NewRun(content, folder.absolute(), command)
            where = chdir(folder) if config.hydra.job.chdir else nullcontext()
            with env_override(config.hydra.job.env_set), where:
                yield run


def command_of(line: CommandLine, overrides: Sequence[str]) -> list[str]:
    """What to type for the same run."""
    flags = [] if line.config_dir is None else ["--config-dir", str(line.config_dir)]
    flags += ["--as-test"] if line.as_test else []
    return ["rlg", "train", *flags, *overrides]


@contextmanager
def as_current(config: DictConfig) -> Iterator[None]:
    """While entered, `${hydra:...}` refers to this configuration."""
    known = HydraConfig.instance()
    before = known.cfg
    try:
        known.set_config(config)
        yield
    finally:
        known.cfg = before


def _begin(config: DictConfig, folder: Path) -> dict[str, Any]:
    """Writes `.hydra/` and configures logging; returns the resolved configuration."""
    with read_write(config.hydra), open_dict(config.hydra):
        config.hydra.run.dir = str(folder)
        config.hydra.runtime.output_dir = str(folder.absolute())
    HydraConfig.instance().set_config(config)
    if config.hydra.output_subdir is not None:
        place = folder / str(config.hydra.output_subdir)
        _save_config(_own(config), "config.yaml", place)
        _save_config(OmegaConf.masked_copy(config, "hydra"), "hydra.yaml", place)
        _save_config(config.hydra.overrides.task, "overrides.yaml", place)
    configure_log(config.hydra.job_logging, config.hydra.verbose)
    return resolved(config)


def task_overrides(config: DictConfig) -> list[str]:
    """As they were typed: a reference in them is resolved with the configuration."""
    found: Any = OmegaConf.to_container(config.hydra.overrides.task, resolve=False)
    return [str(override) for override in found]


# -- resumed runs ----------------------------------------------------------------------------------
def changes_of(folder: Path, overrides: list[str], config_dir: Path | None) -> dict[str, Any]:
    """The sections of the run's `config.yaml` that the overrides change, as they are to be."""
    before = run_config(folder)
    words = CommandLine(overrides, config_dir=config_dir)
    with explained(words):
        config = OmegaConf.create(dict(before))
        for override in OverridesParser.create().parse_overrides(overrides):
            _apply(override, config, words)
        after: Any = OmegaConf.to_container(config, resolve=True)
    for key in FIXED:
        if after.get(key) != before.get(key):
            raise SpecError(
                f"{key}: a resumed run can't change it, its episodes and random numbers continue. "
                "Start a new run with rlg train."
            )
    return {str(key): value for key, value in after.items() if value != before.get(key)}


def _apply(override: Override, config: DictConfig, words: CommandLine) -> None:
    key, value = override.key_or_group, override.value()
    if override.is_delete() or override.is_sweep_override():
        raise SpecError(
            f"{override.input_line}: a resumed run takes key=value only, one value each."
        )
    known = groups(words.config_dir)
    if key in known:
        if key not in config:
            raise SpecError(f"{key}: it is for new runs. Give single keys: total_timesteps=100000.")
        if not isinstance(value, str) or value not in known[key]:
            raise SpecError(option_line(key, str(value), known[key]))
        config[key] = _section(key, value, words)
        return
    section, _, last = key.rpartition(".")
    parent = OmegaConf.select(config, section) if section else config
    if not isinstance(parent, DictConfig) or (last not in parent and not override.is_add()):
        hint = did_you_mean(nearest_path(key, paths(config)))
        raise SpecError(f"{key}: the run's configuration has no such key.{hint}")
    OmegaConf.update(config, key, value, merge=False, force_add=True)


def _section(group: str, option: str, words: CommandLine) -> Any:
    """What the group's file says; references are resolved in the run's configuration."""
    with open_hydra(words.config_dir):
        found = compose("train", overrides=[f"{group}={option}"])
    return OmegaConf.to_container(found[group], resolve=False)


# -- where values come from ------------------------------------------------------------------------
def sources(line: CommandLine) -> dict[str, str]:
    """The file that gave each value its last word, or the command line, by dotted path."""
    found: dict[str, str] = {}
    with explained(line), open_hydra(line.config_dir):
        loader: Any = GlobalHydra.instance().config_loader()
        chosen = loader.compute_defaults_list(line.config_name, line.overrides, RunMode.RUN)
        for default in chosen.defaults:
            package = default.package or ""
            if default.config_path is None or package.partition(".")[0] == "hydra":
                continue
            loaded = loader.repository.load_config(default.config_path)
            for path in _paths(loaded.config, package):
                found[path] = _file(loaded.provider, default.config_path, line)
        for override in chosen.config_overrides:
            for path in _paths(override.value(), override.key_or_group):
                found[path] = COMMAND_LINE
    return found


def source_of(path: str, found: Mapping[str, str]) -> str:
    """The source of a value; `default` if only a constructor has it."""
    while path:
        if path in found:
            return found[path]
        path = path.rpartition(".")[0]
    return "default"


def _paths(value: Any, prefix: str) -> list[str]:
    if isinstance(value, DictConfig):
        value = OmegaConf.to_container(value, resolve=False)
    is_section = isinstance(value, Mapping)
    return list(flat(value, f"{prefix}." if prefix else "")) if is_section else [prefix]


def _file(provider: str, path: str, line: CommandLine) -> str:
    if provider == "user" and line.config_dir is not None:
        return f"{line.config_dir / path}.yaml"
    if provider == NamedEnvs.provider:
        return NamedEnvs.source_of(path)
    return f"conf/{path}.yaml"
