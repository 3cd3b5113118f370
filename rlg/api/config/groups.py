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


def composed_groups(folder: Path | None = None, config_name: str = "train") -> list[str]:
    """The groups of which a primary file chooses an option; others belong to other commands."""
    import yaml

    own = None if folder is None else folder / f"{config_name}.yaml"
    file = own if own is not None and own.is_file() else files(PACKAGE) / f"{config_name}.yaml"
    if not file.is_file():
        return list(groups(folder))
    content = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    entries = [entry for entry in content.get("defaults", []) if isinstance(entry, dict)]
    names = [str(key).removeprefix("optional ") for entry in entries for key in entry]
    known = groups(folder)
    return [name for name in known if name in names]


def option_file(group: str, option: str, folder: Path | None = None) -> Traversable:
    """The file behind `group=option`; the user's folder is searched first."""
    own = None if folder is None else folder / group / f"{option}.yaml"
    return own if own is not None and own.is_file() else files(PACKAGE) / group / f"{option}.yaml"


def _options(folder: Traversable, prefix: str = "") -> list[str]:
    options = []
    for entry in folder.iterdir():
        if entry.is_dir():
            options += _options(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".yaml"):
            options.append(prefix + entry.name.removesuffix(".yaml"))
    return options
