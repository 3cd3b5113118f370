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
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.errors import CheckpointError
from rlg.tracking.checkpoints.tree import Array, as_bytes, sha256

CHUNK = 2**20  # bytes
_NAMES = (
    "bool:BOOL int8:I8 int16:I16 int32:I32 int64:I64 uint8:U8 uint16:U16 uint32:U32 uint64:U64 "
    "float16:F16 float32:F32 float64:F64 complex64:C64"
)
DTYPES = {np.dtype(name): code for name, _, code in (x.partition(":") for x in _NAMES.split())}


class BrokenCheckpointError(CheckpointError):
    """What is on disk is provably not what was saved."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """A missing file is proof of damage; any other error may pass, so the content may be intact."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise BrokenCheckpointError(f"{path}: is missing.") from None
    except OSError as error:
        raise CheckpointError(
            f"{path}: can't be read ({error.strerror}). Its content may be intact: try again."
        ) from None


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> tuple[str, dict[str, list[Any]]]:
    """Writes and syncs; returns the header's sha256, and dtype, shape, sha256 of each array."""
    # Wide items first, so that every array lies at a multiple of its items' size.
    order = sorted(arrays, key=lambda name: -_stored_dtype(arrays[name]).itemsize)
    entries, end = {}, 0
    for name in order:
        array, start = arrays[name], end
        end = start + array.nbytes
        shape = list(array.shape) if array.dtype in DTYPES else [array.nbytes]
        code = DTYPES[_stored_dtype(array)]
        entries[name] = {"dtype": code, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    header = len(text).to_bytes(8, "little") + text
    described = {}
    with path.open("wb") as file:
        file.write(header)
        for name in order:
            array, content = arrays[name], hashlib.sha256()
            for chunk in _chunks(array):
                content.update(chunk)
                file.write(chunk)
            described[name] = [array.dtype.str, list(array.shape), content.hexdigest()]
        file.flush()
        os.fsync(file.fileno())
    return sha256(header), described


def _stored_dtype(array: Array) -> np.dtype[Any]:
    return array.dtype if array.dtype in DTYPES else np.dtype(np.uint8)


def _chunks(array: Array) -> Iterator[memoryview]:
    """The bytes of an array in C order, without a copy of more than a piece of it."""
    pieces = np.nditer(
        array,
        flags=["external_loop", "buffered", "zerosize_ok"],
        order="C",
        buffersize=max(1, CHUNK // array.itemsize),
    )
    for piece in pieces:
        yield as_bytes(np.asarray(piece)).data


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

    def described(self) -> list[Any]:
        """Its dtype, shape and sha256."""
        content = hashlib.sha256()
        for piece in self._pieces(np.empty(CHUNK, np.uint8)):
            content.update(piece)
        return [self.dtype.str, list(self.shape), content.hexdigest()]

    def _pieces(self, room: NDArray[np.uint8]) -> Iterator[memoryview]:
        """Reads the bytes into `room`, piece by piece; a smaller room is used again and again."""
        total, done = math.prod(self.shape) * self.dtype.itemsize, 0
        with reading(self.path), self.path.open("rb", buffering=0) as file:
            file.seek(self.offset)
            while done < total:
                start = done % room.size
                piece = room.data[start : start + min(CHUNK, total - done)]
                count = file.readinto(piece)
                if not count:
                    raise BrokenCheckpointError(f"{self.path}: ends too early.")
                done += count
                yield piece[:count]


def read_header(path: Path) -> tuple[str, dict[str, StoredArray]]:
    """The sha256 of a file's header, and its arrays, which are not read yet."""
    with reading(path), path.open("rb") as file:
        first = file.read(8)
        length = int.from_bytes(first, "little")
        text = file.read(min(length, os.fstat(file.fileno()).st_size))
    dtypes = {code: dtype for dtype, code in DTYPES.items()}
    try:
        arrays = {
            name: StoredArray(
                path,
                8 + length + entry["data_offsets"][0],
                dtypes[entry["dtype"]],
                tuple(entry["shape"]),
            )
            for name, entry in json.loads(text).items()
            if name != "__metadata__"
        }
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise BrokenCheckpointError(f"{path}: has no readable header ({error}).") from None
    return sha256(first + text), arrays


def reference_to(name: str, array: Array) -> Any:
    """What finds an array of this name again."""
    return name if array.dtype in DTYPES else [name, array.dtype.str, list(array.shape)]


def name_of(reference: Any) -> str:
    """The name in a file's header."""
    return reference if isinstance(reference, str) else str(reference[0])


def find(reference: Any, arrays: Mapping[str, StoredArray]) -> StoredArray:
    """The array that a reference is to."""
    stored = arrays[name_of(reference)]
    if isinstance(reference, str):
        return stored
    _, dtype, shape = reference
    return replace(stored, dtype=np.dtype(dtype), shape=tuple(shape))
