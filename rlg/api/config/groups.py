"""The groups of configurations and their options, as files: packaged ones and the user's."""

from __future__ import annotations

from glob import glob
from importlib.resources import files
from pathlib import Path

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
    import yaml

    known, file = groups(folder), option_file("", config_name, folder)
    if not file.is_file():
        return list(known)
    content = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    entries = [entry for entry in content.get("defaults", []) if isinstance(entry, dict)]
    names = [str(key).removeprefix("optional ") for entry in entries for key in entry]
    return [name for name in known if name in names]


def option_file(group: str, option: str, folder: Path | None = None) -> Path:
    """The file behind `group=option`; the user's folder is searched first."""
    own = None if folder is None else folder / group / f"{option}.yaml"
    return own if own is not None and own.is_file() else _packaged() / group / f"{option}.yaml"


def _packaged() -> Path:
    return Path(str(files(PACKAGE)))
