"""Files that are replaced as a whole, and numbers as valid JSON.

A reader sees the old content or the new, never a mixture. The temporary name is fixed, so that
what a killed writer left is overwritten by the next one; run folders have one writer at a time.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rlg.errors import TrackingError

# JSON has no names for these. Strings keep the three apart and away from "absent"; `float` and
# pandas read them back.
NAMES = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def write_atomically(path: Path, content: str) -> None:
    """Writes aside, syncs, renames and syncs the folder; on an error the old file stays."""
    aside = path.with_name(f".{path.name}.tmp")
    try:
        with aside.open("w", encoding="utf-8", newline="") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    sync(path.parent)


@contextmanager
def writing(path: Path, option: str) -> Iterator[None]:
    """What can't be written inside of it is the fault of the option that names the path."""
    try:
        yield
    except OSError as error:
        raise TrackingError(
            f"{option} {path}: {error.strerror or error}. Give a place that can be written."
        ) from error


@contextmanager
def moved_into_place(path: Path) -> Iterator[Path]:
    """A path of the same name in a folder aside; what is there at the end replaces what was."""
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as aside:
        yield Path(aside, path.name)
        for written in Path(aside).iterdir():
            place = path.with_name(written.name)
            if written.is_dir() and place.is_dir():
                shutil.rmtree(place)
            written.replace(place)


def sync(path: Path) -> None:
    """Makes sure that a file's content, or a folder's list of names, has reached the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Sorted and valid JSON, with floats in full; `numbers` of what is read back undoes names."""
    return json.dumps(plain(value), sort_keys=True, allow_nan=False, indent=indent)


def plain(value: Any) -> Any:
    """Numpy scalars as Python's, floats that JSON lacks as their names; containers too."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


def numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object of numbers as it was before `to_json`."""
    return {key: NAMES.get(x, x) if isinstance(x, str) else x for key, x in row.items()}


def size(number: int) -> str:
    """Bytes, in steps of a thousand as disks are sold: 45.2 MB."""
    value, unit = float(number), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if not unit else f"{value:.3g} {_UNITS[unit]}"
