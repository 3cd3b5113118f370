"""Overrides of a configuration, and where its files are."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The arguments of a command that composes a configuration."""

    overrides: list[str] = field(default_factory=list)
    config_dir: Path | None = None  # searched before the packaged files
    config_name: str = "train"
    is_typed: bool = True  # False: a folder says it, which the user may not trust
    as_test: bool = False  # judge the reward at the end
