"""Overrides of a configuration, and where its files are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The arguments of a command that composes a configuration."""

    overrides: list[str] = field(default_factory=list)
    config_dir: Path | None = None  # searched before the packaged files
    config_name: str = "train"
    is_typed: bool = True  # False: a folder says it, which the user may not trust
    as_test: bool = False  # judge the reward at the end


def hydra_text(value: Any) -> str:
    """A value in Hydra's grammar."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{hydra_text(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(hydra_text, value)) + "]"
    if isinstance(value, (int, float)) or re.fullmatch(r"[A-Za-z_][\w/-]*", str(value)):
        return str(value)
    from hydra.core.override_parser.types import Quote, QuotedString

    return QuotedString(str(value), Quote.single).with_quotes()
