"""Arrays in safetensors files (no pickle), streamed from and into their own memory.

The library writes a file as a whole; here every byte is hashed once, on its way to the disk, and a
restored array is read straight to where it belongs: a replay memory of many gigabytes exists once.
Dtypes that the format lacks (float128, complex128, text, dates, other byte orders) are stored as
bytes; the reference then says what they are.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.errors import CheckpointError
from rlg.tracking.checkpoints.tree import Array, as_bytes

CHUNK = 2**20  # bytes
_NAMES = (
    "bool:BOOL int8:I8 int16:I16 int32:I32 int64:I64 uint8:U8 uint16:U16 uint32:U32 uint64:U64 "
    "float16:F16 float32:F32 float64:F64 complex64:C64"
)
DTYPES = {np.dtype(name): code for name, _, code in (x.partition(":") for x in _NAMES.split())}


class BrokenCheckpointError(CheckpointError):
    """What is on disk is provably not what was saved."""


def unreadable(path: Path, error: OSError) -> CheckpointError:
    """A missing file is proof of damage; any other error may pass, so the content may be intact."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return BrokenCheckpointError(f"{path}: is missing.")
    return CheckpointError(
        f"{path}: can't be read ({error.strerror}). Its content may be intact: try again."
    )


class ArraySection:
    """The arrays of one section, by names under which a file keeps them."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def store(self, path: tuple[str, ...], array: Array) -> Any:
        """Keeps a reference to an array and returns what finds it again."""
        # Lone surrogates are legal in Python's strings, but not in a file's header.
        name = base = "/".join(path).encode("utf-8", "backslashreplace").decode() or "array"
        count = 1
        while name in self.arrays or name == "__metadata__":
            count += 1
            name = f"{base}#{count}"
        self.arrays[name] = array
        return name if array.dtype in DTYPES else [name, array.dtype.str, list(array.shape)]

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    def write(self, path: Path) -> tuple[str, dict[str, list[Any]]]:
        """Writes and syncs; returns the header's sha256, and dtype, shape, sha256 of each array."""
        # Wide items first, so that every array lies at a multiple of its items' size.
        order = sorted(self.arrays, key=lambda name: -_stored_dtype(self.arrays[name]).itemsize)
        entries, end = {}, 0
        for name in order:
            array, start = self.arrays[name], end
            end = start + array.nbytes
            dtype = _stored_dtype(array)
            shape = list(array.shape) if array.dtype in DTYPES else [array.nbytes]
            entries[name] = {"dtype": DTYPES[dtype], "shape": shape, "data_offsets": [start, end]}
        text = json.dumps(entries, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        header = len(text).to_bytes(8, "little") + text
        described = {}
        with path.open("wb") as file:
            file.write(header)
            for name in order:
                array, content = self.arrays[name], hashlib.sha256()
                for chunk in _chunks(array):
                    content.update(chunk)
                    file.write(chunk)
                described[name] = [array.dtype.str, list(array.shape), content.hexdigest()]
            file.flush()
            os.fsync(file.fileno())
        return hashlib.sha256(header).hexdigest(), described


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array that is still on disk."""

    path: Path
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def read(self) -> Array:
        array: Array = np.empty(self.shape, self.dtype)
        self.read_into(array)
        return array

    def read_into(self, target: Array) -> None:
        """Fills an array of the same shape and dtype."""
        if not target.flags.c_contiguous:
            target[...] = self.read()
            return
        for _ in self._pieces(as_bytes(target)):
            pass

    def sha256(self) -> str:
        content = hashlib.sha256()
        for piece in self._pieces(np.empty(CHUNK, np.uint8)):
            content.update(piece)
        return content.hexdigest()

    def _pieces(self, room: NDArray[np.uint8]) -> Iterator[memoryview]:
        """Reads the bytes into `room`, piece by piece; a smaller room is used again and again."""
        total, done = math.prod(self.shape) * self.dtype.itemsize, 0
        try:
            with self.path.open("rb", buffering=0) as file:
                file.seek(self.offset)
                while done < total:
                    start = done % room.size
                    piece = room.data[start : start + min(CHUNK, total - done)]
                    count = file.readinto(piece)
                    if not count:
                        raise BrokenCheckpointError(f"{self.path}: ends too early.")
                    done += count
                    yield piece[:count]
        except OSError as error:
            raise unreadable(self.path, error) from None


def read_header(path: Path) -> tuple[str, dict[str, StoredArray]]:
    """The sha256 of a file's header, and its arrays, which are not read yet."""
    try:
        with path.open("rb") as file:
            first = file.read(8)
            length = int.from_bytes(first, "little")
            text = file.read(min(length, os.fstat(file.fileno()).st_size))
        entries: Mapping[str, Any] = json.loads(text)
        dtypes = {code: dtype for dtype, code in DTYPES.items()}
        arrays = {
            name: StoredArray(
                path,
                8 + length + entry["data_offsets"][0],
                dtypes[entry["dtype"]],
                tuple(entry["shape"]),
            )
            for name, entry in entries.items()
            if name != "__metadata__"
        }
    except OSError as error:
        raise unreadable(path, error) from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise BrokenCheckpointError(f"{path}: has no readable header ({error}).") from None
    return hashlib.sha256(first + text).hexdigest(), arrays


def find(reference: Any, arrays: Mapping[str, StoredArray]) -> StoredArray:
    """The array that `ArraySection.store` returned this reference for."""
    stored = arrays[name_of(reference)]
    if isinstance(reference, str):
        return stored
    _, dtype, shape = reference
    return StoredArray(stored.path, stored.offset, np.dtype(dtype), tuple(shape))


def name_of(reference: Any) -> str:
    """The name in a file's header."""
    return reference if isinstance(reference, str) else str(reference[0])


def _stored_dtype(array: Array) -> np.dtype[Any]:
    return array.dtype if array.dtype in DTYPES else np.dtype(np.uint8)


def _chunks(array: Array) -> Iterator[Any]:
    """The bytes of an array in C order, without a copy of more than a piece of it."""
    if array.flags.c_contiguous:
        flat = as_bytes(array)
        for start in range(0, flat.size, CHUNK):
            yield flat[start : start + CHUNK].data
        return
    pieces = np.nditer(
        array,
        flags=["external_loop", "buffered", "zerosize_ok"],
        order="C",
        buffersize=max(1, CHUNK // array.itemsize),
    )
    for piece in pieces:
        yield as_bytes(np.asarray(piece)).data
