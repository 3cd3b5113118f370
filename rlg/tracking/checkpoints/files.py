"""The files of one checkpoint: arrays by section, all other values, and a manifest to check by."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rlg import __version__
from rlg.errors import CheckpointError
from rlg.tracking.checkpoints.arrays import (
    BrokenCheckpointError,
    find,
    name_of,
    read_header,
    reading,
    reference_to,
    write_arrays,
)
from rlg.tracking.checkpoints.tree import (
    Array,
    decode,
    digest_of_encoded,
    digest_of_json,
    encode,
    sha256,
)
from rlg.tracking.files import sync
from rlg.tracking.meta import timestamp

STATE, MANIFEST = "state.json", "manifest.json"
FORMAT = 2
HEADERS = 4096  # bytes per file for headers, names and rounding up to blocks
PER_ARRAY = 256


class Section:
    """A section's tree as JSON, and its arrays by the names under which a file keeps them."""

    def __init__(self, name: str, tree: Any) -> None:
        self.name = name
        self._arrays: dict[str, Array] = {}
        self.value = encode(tree, self._store, (name,))
        self.nbytes = HEADERS + len(json.dumps(self.value)) + PER_ARRAY * len(self._arrays)
        self.nbytes += sum(array.nbytes for array in self._arrays.values())

    def _store(self, path: tuple[str, ...], array: Array) -> Any:
        """Keeps a reference to an array and returns what finds it again."""
        # Lone surrogates are legal in Python's strings, but not in a file's header.
        base = "/".join(path).encode("utf-8", "backslashreplace").decode() or "array"
        name = _free_name(base, "#", "", {*self._arrays, "__metadata__"})
        self._arrays[name] = array
        return reference_to(name, array)

    def write(self, folder: Path, files: dict[str, Any]) -> dict[str, Any]:
        """Writes its arrays and lets go of them; returns its entry, and adds that of its file."""
        file, described = None, dict[str, list[Any]]()
        if self._arrays:
            base = re.sub(r"[^A-Za-z0-9_-]", "_", self.name)[:80] or "_"
            file = _free_name(base, ".", ".safetensors", files)
            header, described = write_arrays(folder / file, self._arrays)
            files[file] = {"bytes": (folder / file).stat().st_size, "header": header}
            self._arrays = {}
        digest = digest_of_encoded(self.value, lambda key: described[name_of(key)])
        return {"digest": digest, "file": file}


class Draft:
    """A checkpoint to be: sections are trees, or functions that return one when it is written."""

    def __init__(self, step: int, sections: Mapping[str, Any]) -> None:
        if step < 0:
            raise CheckpointError(f"checkpoint of step {step}: steps start at 0.")
        self.step = int(step)
        for name in sections:
            if type(name) is not str:
                raise CheckpointError(f"checkpoint section {name!r}: use strings as names.")
        self._sections: dict[str, Section | Callable[[], Any]] = {
            name: tree if callable(tree) else Section(name, tree) for name, tree in sections.items()
        }

    def nbytes(self) -> int:
        """About what it takes on disk as far as it is known, rather more than less."""
        known = (part for part in self._sections.values() if isinstance(part, Section))
        return 2 * HEADERS + sum(section.nbytes for section in known)

    def write(self, folder: Path) -> None:
        """Writes and syncs all files, the manifest last. Sections that were made go at once."""
        files: dict[str, dict[str, Any]] = {}
        entries, values = {}, {}
        for name, part in self._sections.items():
            section = part if isinstance(part, Section) else Section(name, part())
            self._sections[name] = section
            entries[name] = section.write(folder, files)
            values[name] = section.value
        state = json.dumps(values).encode()
        files[STATE] = {"bytes": len(state), "sha256": sha256(state)}
        manifest = Manifest(self.step, files, entries, saved=timestamp(), rlg=__version__)
        for path, content in ((folder / STATE, state), (folder / MANIFEST, manifest.content())):
            path.write_bytes(content)
            sync(path)
        sync(folder)


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
        with reading(path):
            text = path.read_bytes()
        try:
            content = json.loads(text)
            own = content.pop("digest")
            version = content["format"]
        except (ValueError, LookupError, AttributeError, TypeError) as error:
            raise BrokenCheckpointError(f"{path}: can't be read ({error}).") from None
        if own != digest_of_json(content):
            raise BrokenCheckpointError(f"{path}: doesn't match its own sha256.")
        if version != FORMAT:
            raise CheckpointError(
                f"{path}: has format {version}, this rlg reads {FORMAT}. Use the version of rlg "
                f"that wrote it ({content.get('rlg', 'unknown')})."
            )
        return cls(**content)

    def content(self) -> bytes:
        own = asdict(self)
        return (json.dumps({**own, "digest": digest_of_json(own)}, indent=1) + "\n").encode()

    def check_sizes(self, folder: Path, names: Iterable[str] | None = None) -> None:
        """Raises where a file is missing or has another length: no content is read."""
        for name in self.files if names is None else names:
            path, expected = folder / name, self.files[name]["bytes"]
            with reading(path):
                found = path.stat().st_size
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
        with reading(folder / STATE):
            state = (folder / STATE).read_bytes()
        if sha256(state) != self.files[STATE]["sha256"]:
            raise _changed(folder / STATE)
        values = json.loads(state)
        return {
            section: self._read(folder / (file or STATE), section, values[section], stored)
            for section, file in chosen.items()
        }

    def _read(self, path: Path, section: str, value: Any, stored: Collection[str]) -> Any:
        header, arrays = read_header(path) if path.name != STATE else ("", {})
        if header != self.files[path.name].get("header", ""):
            raise _changed(path)
        digest = digest_of_encoded(value, lambda key: find(key, arrays).described())
        if digest != self.sections[section]["digest"]:
            raise _changed(path)
        if section in stored:
            return decode(value, lambda key: find(key, arrays))
        return decode(value, lambda key: find(key, arrays).read())


def _changed(path: Path) -> BrokenCheckpointError:
    return BrokenCheckpointError(f"{path}: doesn't match its sha256: its bytes have changed.")


def _free_name(base: str, mark: str, end: str, taken: Collection[str]) -> str:
    """The name, or the name with the first number from 2 on that makes it another."""
    numbers = itertools.chain([""], (f"{mark}{number}" for number in itertools.count(2)))
    return next(name for n in numbers if (name := f"{base}{n}{end}") not in taken)
