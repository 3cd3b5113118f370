"""What memories of records share: one variable for each leaf, and what is refused before it exists.

A write is one scatter for each column, a read one gather.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rlg.errors import BuildError, ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.limits import PositiveInt
from rlg.graph.spaces import Space, map_leaves, path_name, unflatten


def records_space(memory: Any) -> Space:
    """The space that records were stored with: what comes out has the bounds of what went in."""
    space: Space = memory._space
    return space


def sampled_spaces(memory: Any) -> tuple[Space, None]:
    """The same for records with their rows beside them."""
    return memory._space, None


def weighted_spaces(memory: Any) -> tuple[Space, None, None]:
    """The same for records with keys and weights beside them."""
    return memory._space, None, None


class Columns(Component):
    """A ring of `buffer_size` rows; records: any nested space with a batch rank."""

    variable_kind = "record"
    # Names of variables and sub-components, which columns can't have.
    counters: ClassVar[tuple[str, ...]] = ("index", "size")

    def __init__(self, buffer_size: PositiveInt = 100_000) -> None:
        self.buffer_size = buffer_size

    def create_variables(self, *, records: Space) -> None:
        self._check(records)
        self._space = records
        check_free(self.path, self.buffer_size, bytes_of(records))
        self._flat = {
            path: self.variable(
                path_name(path) or "records", (self.buffer_size, *box.shape), dtype=box.dtype
            )
            for path, box in records.flatten().items()
        }
        self._columns = unflatten(self._flat, records)
        self._index = self.variable("index", dtype="int64")
        self._size = self.variable("size", dtype="int64")

    @api
    @graph_fn
    def size(self) -> Tensor:
        """How many records there are."""
        return self.ops.value_of(self._size)

    def _write(self, records: Tensor) -> Tensor:
        """Puts records into the next rows and returns these."""
        ops = self.ops
        n = ops.batch_size(first_leaf(records))
        rows = (self._index + ops.arange(n)) % self.buffer_size  # [B]
        self._scatter(self._columns, rows, records)
        capacity = ops.constant(self.buffer_size, "int64")
        ops.assign(self._size, ops.minimum(self._size + n, capacity))
        ops.assign(self._index, (self._index + n) % self.buffer_size)
        return rows

    def _scatter(self, columns: Tensor, rows: Tensor, records: Tensor) -> None:
        """Writes all columns. Plain recursion: memories are called more often than anything."""
        if isinstance(columns, dict):
            for name, column in columns.items():
                self._scatter(column, rows, records[name])
        elif isinstance(columns, tuple):
            for column, values in zip(columns, records, strict=True):
                self._scatter(column, rows, values)
        else:
            self.ops.scatter_rows(columns, rows, records)

    def _gather(self, columns: Tensor, rows: Tensor) -> Tensor:
        """The rows of all columns, in their structure."""
        if isinstance(columns, dict):
            return {name: self._gather(column, rows) for name, column in columns.items()}
        if isinstance(columns, tuple):
            return tuple([self._gather(column, rows) for column in columns])
        return self.ops.take_rows(columns, rows)

    def _by_age(self, chunk: int) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """Rows and records of all that is there, oldest first, read on the host."""
        size, index = int(self._size[()]), int(self._index[()])
        for start in range(0, size, chunk):
            rows = (index - size + np.arange(start, min(size, start + chunk))) % self.buffer_size
            yield rows, map_leaves(lambda column, rows=rows: column[rows], self._columns)

    def _check(self, records: Space) -> None:
        if self.buffer_size < 1:
            raise ComponentError(
                f"{self.path}: buffer_size must be at least 1, got {self.buffer_size}."
            )
        for path, box in records.flatten().items():
            name = path_name(path)
            if name.split("/")[0] in self.counters:
                raise SpaceError(
                    f"{self.path}: `records` has a key {name!r}, which names a counter of the "
                    "memory. Call it otherwise."
                )
            if box.ranks in ("B", "F"):
                continue
            where = f"{self.path}: `records{'/' if name else ''}{name}` is {box}"
            if not box.ranks and box.shape and box.shape[0] > self.buffer_size:
                raise SpaceError(
                    f"{where}: an insert of {box.shape[0]} records into a memory of "
                    f"{self.buffer_size}. Raise buffer_size, or insert fewer at a time, and give "
                    "the leading axis as a batch rank: ranks='B'."
                )
            raise SpaceError(f"{where}; records come in batches. Give it a batch rank: ranks='B'.")


def first_leaf(records: Tensor) -> Tensor:
    """One of the arrays of records."""
    while isinstance(records, (dict, tuple)):
        records = next(iter(records.values() if isinstance(records, dict) else records))
    return records


def bytes_of(records: Space) -> int:
    """The size of one record."""
    boxes = records.flatten().values()
    return sum(math.prod(box.shape) * np.dtype(box.dtype).itemsize for box in boxes)


def check_free(path: str | None, count: int, one: int) -> None:
    """Before anything is allocated: a memory that swaps is worse than none."""
    import psutil

    needed, free = one * count, psutil.virtual_memory().available
    if needed > free:
        raise BuildError(
            f"{path}: {count:,} records of {one:,} bytes need {needed / 1e9:.1f} GB, but "
            f"{free / 1e9:.1f} GB are free. Lower buffer_size, or store smaller records (frames as "
            "uint8)."
        )
