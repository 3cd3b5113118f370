"""The log of actions that a replay needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rlg.envs.layout import Columns


class ActionLog:
    """The last actions of all environments, [T, N, ...] for each leaf of the action space.

    One row is one step of all, so a log costs one write a step, and the logs of the single
    environments lie aligned at their ends. It holds as many rows as the longest of them needs.
    """

    def __init__(self, columns: Columns, capacity: int = 256) -> None:
        self._stores = [np.empty((capacity, *c.shape), c.dtype) for c in columns]
        self._end = 0

    def append(self, columns: Sequence[NDArray[np.generic]], longest: int) -> None:
        """Adds one step; `longest` is the largest number of rows that an environment needs."""
        if self._end == len(self._stores[0]):
            self._make_room(longest)
        for store, column in zip(self._stores, columns, strict=True):
            store[self._end] = column
        self._end += 1

    def tail(self, count: int) -> Columns:
        """Copies of the last rows."""
        return [store[self._end - count : self._end].copy() for store in self._stores]

    def load(self, rows: Columns) -> None:
        """Holds these rows and nothing else."""
        count = len(rows[0])
        self._end = 0
        self._grow(max(count, len(self._stores[0])), count)
        for store, column in zip(self._stores, rows, strict=True):
            store[:count] = column
        self._end = count

    def _make_room(self, keep: int) -> None:
        capacity = len(self._stores[0])
        self._grow(2 * capacity if 2 * keep > capacity else capacity, keep)

    def _grow(self, capacity: int, keep: int) -> None:
        kept = self.tail(min(keep, self._end))
        self._end = len(kept[0])
        if capacity > len(self._stores[0]):
            self._stores = [np.empty((capacity, *s.shape[1:]), s.dtype) for s in self._stores]
        for store, rows in zip(self._stores, kept, strict=True):
            store[: self._end] = rows
