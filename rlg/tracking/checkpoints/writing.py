"""The files of one checkpoint: how they are written into a folder that nobody sees yet."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlg import __version__
from rlg.errors import CheckpointError
from rlg.tracking.atomic import sync
from rlg.tracking.checkpoints.arrays import ArraySection
from rlg.tracking.checkpoints.manifest import NAME, Manifest, file_digest
from rlg.tracking.checkpoints.tree import digest, encode
from rlg.tracking.meta import timestamp

STATE = "state.json"
HEADERS = 4096  # bytes per file for headers, names and rounding up to blocks
PER_ARRAY = 256


class Draft:
    """A tree, sorted into files: one of arrays per section that has any, and one of values."""

    def __init__(self, step: int, tree: Mapping[str, Any]) -> None:
        if step < 0:
            raise CheckpointError(f"checkpoint of step {step}: steps start at 0.")
        self.step = int(step)
        self._tree = tree
        self._arrays: dict[str, ArraySection] = {}
        values: dict[str, Any] = {}
        for section, value in tree.items():
            if type(section) is not str:
                raise CheckpointError(f"checkpoint section {section!r}: use strings as names.")
            self._arrays[section] = arrays = ArraySection()
            values[section] = encode(value, arrays.store, (section,))
        self._state = json.dumps(values).encode()

    @property
    def nbytes(self) -> int:
        """About what it takes on disk, rather more than less."""
        sections = self._arrays.values()
        count = sum(len(section.arrays) for section in sections)
        size = sum(section.nbytes for section in sections)
        return size + len(self._state) + PER_ARRAY * count + HEADERS * (2 + len(self._arrays))

    def write(self, folder: Path) -> None:
        """Writes and syncs all files, the manifest last."""
        (folder / STATE).write_bytes(self._state)
        files = [STATE]
        sections: dict[str, dict[str, Any]] = {}
        for section, arrays in self._arrays.items():
            name = None
            if arrays.arrays:
                name = _file_name(section, files)
                arrays.save(folder / name)
                # safetensors makes files that only their owner can read.
                shutil.copymode(folder / STATE, folder / name)
                files.append(name)
            sections[section] = {"digest": digest(self._tree[section]), "file": name}
        entries = {name: _entry(folder / name) for name in files}
        manifest = Manifest(self.step, entries, sections, saved=timestamp(), rlg=__version__)
        (folder / NAME).write_text(manifest.text(), encoding="utf-8")
        sync(folder / NAME)
        sync(folder)


def _file_name(section: str, taken: list[str]) -> str:
    """The section's name as far as a file can have it."""
    base = re.sub(r"[^A-Za-z0-9_-]", "_", section)[:80] or "_"
    name, count = f"{base}.safetensors", 1
    while name in taken:
        count += 1
        name = f"{base}.{count}.safetensors"
    return name


def _entry(path: Path) -> dict[str, Any]:
    sync(path)
    return {"bytes": path.stat().st_size, "sha256": file_digest(path)}
