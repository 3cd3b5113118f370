"""How values of a space lie in arrays with one row per environment, and what marks them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlg.graph.spaces import Box, Path, Space, path_name, unflatten

Columns: TypeAlias = list[NDArray[Any]]  # one array per leaf, [N, ...]


class Layout:
    """The leaves of a space as columns."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.leaves = list(space.flatten().items())

    def empty(self, num_envs: int) -> Columns:
        return [np.empty((num_envs, *box.shape), box.dtype) for _, box in self.leaves]

    def write(self, columns: Columns, row: int, value: Any) -> None:
        """Puts the value of one environment in its row."""
        for column, (path, _) in zip(columns, self.leaves, strict=True):
            column[row] = at(value, path)

    def tree(self, columns: Sequence[Any]) -> Any:
        """The columns in the structure of the space."""
        if not self.space.is_container:
            return columns[0]
        pairs = zip(self.leaves, columns, strict=True)
        return unflatten({path: column for (path, _), column in pairs}, self.space)

    def check(self, value: Any) -> None:
        """Raises ValueError if numpy would stretch or truncate the value to fit its row."""
        for path, box in self.leaves:
            leaf = np.asarray(at(value, path))
            if leaf.shape != box.shape or (leaf.dtype.kind == "f" and box.kind != "float"):
                where = f"{path_name(path)} of the observation" if path else "the observation"
                raise ValueError(
                    f"{where} has shape {leaf.shape} and dtype {leaf.dtype}, but its space says "
                    f"{box.shape} and {box.dtype}"
                )


def at(value: Any, path: Path) -> Any:
    """The leaf of a value tree, or of a space of gymnasium."""
    for key in path:
        value = value[key]
    return value


def marks(columns: Columns) -> list[str]:
    """A digest per row: tells after a replay whether the environment is where it was."""
    return [
        hashlib.blake2b(b"".join(column[row].tobytes() for column in columns)).hexdigest()[:32]
        for row in range(len(columns[0]))
    ]


def as_float32(space: Space) -> Space:
    """Float64 leaves, which networks don't take, as float32; the values are cast with them."""

    def narrow(box: Box) -> Space:
        if box.dtype != "float64":
            return box
        return Box(box.shape, "float32", box.low, box.high, box.ranks)

    return space.map(narrow)
