"""Arrays in safetensors files: one file per top-level section of a checkpoint, no pickle.

Dtypes that the format lacks (float128, complex128, text, dates, other byte orders) are stored as
bytes; the reference then says what they are.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from rlg.tracking.checkpoints.tree import Array, as_bytes

NATIVE = frozenset(
    np.dtype(name)
    for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "complex64".split()
)


@dataclass
class ArraySection:
    """The arrays of one section, by names under which a file keeps them."""

    arrays: dict[str, Array] = field(default_factory=dict)

    def store(self, path: tuple[str, ...], array: Array) -> Any:
        """Keeps a reference to an array and returns what `fetch` needs."""
        # Lone surrogates are legal in Python's strings, but not in a file's header.
        name = base = "/".join(path).encode("utf-8", "backslashreplace").decode() or "array"
        count = 1
        while name in self.arrays or name == "__metadata__":
            count += 1
            name = f"{base}#{count}"
        self.arrays[name] = array
        if array.dtype in NATIVE:
            return name
        return [name, array.dtype.str, list(array.shape)]

    def fetch(self, reference: Any) -> Array:
        if isinstance(reference, str):
            return self.arrays[reference]
        name, dtype, shape = reference
        array: Array = self.arrays[name].view(np.dtype(dtype)).reshape(shape)
        return array

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    def save(self, path: Path) -> None:
        """Streams the arrays; only those that aren't contiguous are copied."""
        ready = {
            name: np.asarray(array, order="C") if array.dtype in NATIVE else as_bytes(array)
            for name, array in self.arrays.items()
        }
        try:
            save_file(ready, path)
        except SafetensorError as error:
            raise _os_error(error) from None

    @classmethod
    def load(cls, path: Path) -> ArraySection:
        return cls(load_file(path))


def _os_error(error: SafetensorError) -> OSError:
    """The number that the library puts into its message, as Python's own error."""
    found = re.search(r"\(os error (\d+)\)", str(error))
    number = int(found.group(1)) if found else 0
    return OSError(number, os.strerror(number) if found else str(error))
