"""The replay memory: a ring of records, one variable for each of their leaves.

An insert is one scatter for each column, a sample one gather. Priorities are not kept here.
"""

from __future__ import annotations

import math

import numpy as np

from rlg.errors import BuildError, ComponentError, SpaceError
from rlg.graph import Component, Size, Tensor, api, graph_fn
from rlg.graph.spaces import Space, flatten, map_leaves, path_name, unflatten

COUNTERS = ("index", "size")


class ReplayMemory(Component):
    """Keeps the newest `buffer_size` records and samples uniformly: Lin (1992).

    records: any nested space with a batch rank; rows: int64 [n], the places of sampled records.
    Sample only after the first insert: an empty memory gives zeros.
    """

    def __init__(self, buffer_size: int = 100_000) -> None:
        self.buffer_size = buffer_size

    def create_variables(self, *, records: Space) -> None:
        self._check(records)
        self._check_memory(records)
        columns = {
            path: self.variable(
                path_name(path) or "records", (self.buffer_size, *box.shape), dtype=box.dtype
            )
            for path, box in records.flatten().items()
        }
        self._columns = unflatten(columns, records)
        self._index = self.variable("index", dtype="int64")
        self._size = self.variable("size", dtype="int64")

    @api
    @graph_fn
    def insert(self, records: Tensor) -> None:
        """Overwrites the oldest; of more than `buffer_size` records the last ones stay."""
        ops = self.ops
        n = ops.batch_size(next(iter(flatten(records).values())))
        rows = (self._index + ops.arange(n)) % self.buffer_size  # [B]
        map_leaves(lambda c, values: ops.scatter_rows(c, rows, values), self._columns, records)
        capacity = ops.constant(self.buffer_size, "int64")
        ops.assign(self._size, ops.minimum(self._size + n, capacity))
        ops.assign(self._index, (self._index + n) % self.buffer_size)

    @api
    @graph_fn
    def sample(self, n: Size) -> tuple[Tensor, Tensor]:
        """Draws with replacement."""
        ops = self.ops
        rows = ops.random_rows((n,), self._size)
        return map_leaves(lambda column: ops.take_rows(column, rows), self._columns), rows

    @api
    @graph_fn
    def size(self) -> Tensor:
        """How many records there are."""
        return self.ops.value_of(self._size)

    def _check(self, records: Space) -> None:
        if self.buffer_size < 1:
            raise ComponentError(f"{self.path}: buffer_size is {self.buffer_size}; give 1 or more.")
        for path, box in records.flatten().items():
            name = path_name(path)
            if name in COUNTERS:
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

    def _check_memory(self, records: Space) -> None:
        """Before anything is allocated: a memory that swaps is worse than none."""
        import psutil

        one = sum(
            math.prod(box.shape) * np.dtype(box.dtype).itemsize
            for box in records.flatten().values()
        )
        needed, free = one * self.buffer_size, psutil.virtual_memory().available
        if needed > free:
            raise BuildError(
                f"{self.path}: {self.buffer_size:,} records of {one:,} bytes need "
                f"{needed / 1e9:.1f} GB, but {free / 1e9:.1f} GB are free. Lower buffer_size, or "
                "store smaller records (frames as uint8)."
            )
