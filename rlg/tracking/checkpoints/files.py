"""The files of one checkpoint: arrays by section, all other values, and a manifest to check by."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rlg import __version__
from rlg.errors import CheckpointError
from rlg.tracking.checkpoints.arrays import (
    ArraySection,
    BrokenCheckpointError,
    StoredArray,
    find,
    name_of,
    read_header,
    unreadable,
)
from rlg.tracking.checkpoints.tree import decode, digest_of_encoded, encode
from rlg.tracking.files import sync
from rlg.tracking.meta import timestamp

STATE, MANIFEST = "state.json", "manifest.json"
FORMAT = 2
HEADERS = 4096  # bytes per file for headers, names and rounding up to blocks
PER_ARRAY = 256


class Draft:
    """A checkpoint to be: sections are trees, or functions that return one when it is written."""

    def __init__(self, step: int, sections: Mapping[str, Any]) -> None:
        if step < 0:
            raise CheckpointError(f"checkpoint of step {step}: steps start at 0.")
        self.step = int(step)
        self._pending: dict[str, Callable[[], Any]] = {}
        self._arrays: dict[str, ArraySection] = {}
        self._values: dict[str, Any] = {}
        self._nbytes = HEADERS
        for section, value in sections.items():
            if type(section) is not str:
                raise CheckpointError(f"checkpoint section {section!r}: use strings as names.")
            self._values[section] = None  # keeps the order
            if callable(value):
                self._pending[section] = value
            else:
                self._encode(section, value)

    def nbytes(self) -> int:
        """About what it takes on disk as far as it is known, rather more than less."""
        return self._nbytes + len(json.dumps(self._values)) + HEADERS

    def write(self, folder: Path) -> None:
        """Writes and syncs all files, the manifest last. Sections that were made go at once."""
        files: dict[str, dict[str, Any]] = {}
        sections = {section: self._write(folder, section, files) for section in self._values}
        state = json.dumps(self._values).encode()
        (folder / STATE).write_bytes(state)
        sync(folder / STATE)
        files[STATE] = {"bytes": len(state), "sha256": hashlib.sha256(state).hexdigest()}
        manifest = Manifest(self.step, files, sections, saved=timestamp(), rlg=__version__)
        (folder / MANIFEST).write_text(manifest.text(), encoding="utf-8")
        sync(folder / MANIFEST)
        sync(folder)

    def _write(self, folder: Path, section: str, files: dict[str, Any]) -> dict[str, Any]:
        """Writes a section's arrays; returns its entry in the manifest and adds its file's."""
        if section in self._pending:
            self._encode(section, self._pending.pop(section)())
        arrays, name, described = self._arrays.pop(section), None, dict[str, list[Any]]()
        if arrays.arrays:
            name = _file_name(section, files)
            header, described = arrays.write(folder / name)
            files[name] = {"bytes": (folder / name).stat().st_size, "header": header}
        value = self._values[section]
        return {
            "digest": digest_of_encoded(value, lambda key: described[name_of(key)]),
            "file": name,
        }

    def _encode(self, section: str, value: Any) -> None:
        arrays = self._arrays[section] = ArraySection()
        self._values[section] = encode(value, arrays.store, (section,))
        self._nbytes += arrays.nbytes + PER_ARRAY * len(arrays.arrays) + HEADERS


@dataclass(frozen=True, slots=True)
class Manifest:
    """Files by name with bytes and sha256, sections by name with content digest and file.

    Of a file of arrays the header has a sha256; its arrays are covered by their section's digest.
    """

    step: int
    files: dict[str, dict[str, Any]]
    sections: dict[str, dict[str, Any]]
    saved: str
    rlg: str
    format: int = FORMAT

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        path = folder / MANIFEST
        try:
            content = json.loads(path.read_bytes())
            own = content.pop("digest")
            version = content["format"]
        except OSError as error:
            raise unreadable(path, error) from None
        except (ValueError, LookupError, AttributeError, TypeError) as error:
            raise BrokenCheckpointError(f"{path}: can't be read ({error}).") from None
        if own != _digest(content):
            raise BrokenCheckpointError(f"{path}: doesn't match its own sha256.")
        if version != FORMAT:
            raise CheckpointError(
                f"{path}: has format {version}, this rlg reads {FORMAT}. Use the version of rlg "
                f"that wrote it ({content.get('rlg', 'unknown')})."
            )
        return cls(**content)

    def text(self) -> str:
        content = asdict(self)
        return json.dumps({**content, "digest": _digest(content)}, indent=1) + "\n"

    def check_sizes(self, folder: Path, names: Iterable[str] | None = None) -> None:
        """Raises where a file is missing or has another length: no content is read."""
        for name in self.files if names is None else names:
            path, expected = folder / name, self.files[name]["bytes"]
            try:
                found = path.stat().st_size
            except OSError as error:
                raise unreadable(path, error) from None
            if found != expected:
                raise BrokenCheckpointError(f"{path}: has {found:,} bytes instead of {expected:,}.")

    def read_sections(
        self, folder: Path, names: Iterable[str], stored: Collection[str]
    ) -> dict[str, Any]:
        """Verifies every byte of these sections, then reads them.

        Arrays of the sections `stored` stay on disk, as `StoredArray`s.
        """
        chosen = {name: self.sections[name]["file"] for name in names}
        self.check_sizes(folder, {STATE, *filter(None, chosen.values())})
        try:
            state = (folder / STATE).read_bytes()
        except OSError as error:
            raise unreadable(folder / STATE, error) from None
        if hashlib.sha256(state).hexdigest() != self.files[STATE]["sha256"]:
            raise _changed(folder / STATE)
        values = json.loads(state)
        return {
            section: self._read(folder / (file or STATE), section, values[section], stored)
            for section, file in chosen.items()
        }

    def _read(self, path: Path, section: str, value: Any, stored: Collection[str]) -> Any:
        arrays = self._verified(path, section, value)
        if section in stored:
            return decode(value, lambda key: find(key, arrays))
        return decode(value, lambda key: find(key, arrays).read())

    def _verified(self, path: Path, section: str, value: Any) -> dict[str, StoredArray]:
        header, arrays = read_header(path) if path.name != STATE else ("", {})
        entry = self.files[path.name]
        if header != entry.get("header", ""):
            raise _changed(path)

        def described(key: Any) -> list[Any]:
            stored = find(key, arrays)
            return [stored.dtype.str, list(stored.shape), stored.sha256()]

        if digest_of_encoded(value, described) != self.sections[section]["digest"]:
            raise _changed(path)
        return arrays


def _changed(path: Path) -> BrokenCheckpointError:
    return BrokenCheckpointError(f"{path}: doesn't match its sha256: its bytes have changed.")


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _file_name(section: str, taken: Iterable[str]) -> str:
    """The section's name as far as a file can have it."""
    base = re.sub(r"[^A-Za-z0-9_-]", "_", section)[:80] or "_"
    name, count = f"{base}.safetensors", 1
    while name in taken:
        count += 1
        name = f"{base}.{count}.safetensors"
    return name
