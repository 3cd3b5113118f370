"""The groups of configurations and their options, as files: packaged ones and the user's."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

PACKAGE = "rlg.conf"


def groups(folder: Path | None = None) -> dict[str, list[str]]:
    """Options by group, those of the user's folder included; nested options as in `atari/pong`."""
    roots: list[Traversable] = [files(PACKAGE)]
    if folder is not None and folder.is_dir():
        roots.append(folder)
    found: dict[str, set[str]] = {}
    for root in roots:
        for entry in root.iterdir():
            if entry.is_dir() and not entry.name.startswith(("_", ".")):
                found.setdefault(entry.name, set()).update(_options(entry))
    return {name: sorted(options) for name, options in sorted(found.items()) if options}


def _options(folder: Traversable, prefix: str = "") -> list[str]:
    options = []
    for entry in folder.iterdir():
        if entry.is_dir():
            options += _options(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".yaml"):
            options.append(prefix + entry.name.removesuffix(".yaml"))
    return options
