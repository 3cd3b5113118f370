"""Overrides of a run's own configuration, for `rlg resume`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hydra import compose
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from rlg.api.composing.command_line import CommandLine
from rlg.api.composing.errors import explained, option_line
from rlg.api.composing.loader import open_hydra
from rlg.api.config.groups import groups
from rlg.api.folders import run_config
from rlg.errors import SpecError
from rlg.spelling import did_you_mean, nearest_path, paths

# A run's episodes and random numbers come from these and continue where they were. Whether the
# checkpoint fits other changes, it says itself.
FIXED = ("env", "seed")


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
        composed = compose("train", overrides=[f"{group}={option}"])
    return OmegaConf.to_container(composed[group], resolve=False)
