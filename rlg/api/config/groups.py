"""The groups of configurations and their options, as files: packaged ones and the user's."""

from __future__ import annotations

from collections.abc import Mapping
from glob import glob
from importlib.resources import files
from pathlib import Path
from typing import Any

PACKAGE = "rlg.conf"


def groups(folder: Path | None = None) -> dict[str, list[str]]:
    """Options by group, those of the user's folder included; nested options as in `atari/pong`."""
    found: dict[str, set[str]] = {}
    for root in filter(None, (_packaged(), folder)):
        for file in glob("[!_.]*/**/*.yaml", root_dir=root, recursive=True):  # noqa: PTH207 - follows links
            group, _, option = file.removesuffix(".yaml").partition("/")
            found.setdefault(group, set()).add(option)
    return {name: sorted(options) for name, options in sorted(found.items())}


def composed_groups(folder: Path | None = None, config_name: str = "train") -> list[str]:
    """The groups of which a primary file chooses an option; others belong to other commands."""
    known, content = groups(folder), read_option("", config_name, folder)
    return [name for name in known if name in choices(content)] if content else list(known)


def choices(content: Mapping[str, Any]) -> dict[str, str]:
    """What a file's defaults list chooses, by group."""
    entries = [entry for entry in content.get("defaults", []) if isinstance(entry, dict)]
    pairs = [pair for entry in entries for pair in entry.items()]
    return {str(key).removeprefix("optional "): str(value) for key, value in pairs}


def read_option(group: str, option: str, folder: Path | None = None) -> dict[str, Any]:
    """The content of the file behind `group=option`; empty where there is none."""
    import yaml

    file = option_file(group, option, folder)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return (yaml.load(file.read_text("utf-8"), loader) if file.is_file() else None) or {}


def option_file(group: str, option: str, folder: Path | None = None) -> Path:
    """The file behind `group=option`; the user's folder is searched first."""
    own = None if folder is None else folder / group / f"{option}.yaml"
    return own if own is not None and own.is_file() else _packaged() / group / f"{option}.yaml"


def _packaged() -> Path:
    return Path(str(files(PACKAGE)))
