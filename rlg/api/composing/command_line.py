"""What somebody typed: overrides of a configuration, and where its files are."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What follows a command, its flags taken apart."""

    overrides: list[str] = field(default_factory=list)
    config_dir: Path | None = None  # searched before the packaged files
    config_name: str = "train"
    multirun: bool = False
    is_typed: bool = True  # False: a folder says it, which the user may not trust
    as_test: bool = False  # judge the reward at the end
    # What Hydra prints instead of a run: ("--cfg", "job"), ("--info", "defaults")...
    shows: tuple[str, str] | None = None
    package: str | None = None
    resolve: bool = False
