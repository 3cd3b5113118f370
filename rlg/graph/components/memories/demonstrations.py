"""Prioritized replay that keeps demonstrations for good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rlg.errors import ComponentError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.memories.columns import first_leaf
from rlg.graph.components.memories.prioritized import PrioritizedReplay
from rlg.graph.limits import Fraction, PositiveFloat, PositiveInt
from rlg.graph.spaces import Space, map_leaves


class DemonstrationReplay(PrioritizedReplay):
    """Demonstrations and an agent's own records in one memory: Hester et al. (2018), "DQfD".

    What `demonstrate` stores fills the first rows and is never overwritten; what `insert` stores
    goes round in the rest of `buffer_size`. All are sampled in proportion to (|td| + e)^alpha, e is
    `epsilon` for own records and `demonstration_epsilon` for demonstrations. See PrioritizedReplay
    for records, keys and weights.
    """

    counters: ClassVar[tuple[str, ...]] = (*PrioritizedReplay.counters, "kept")

    def __init__(
        self,
        buffer_size: PositiveInt = 100_000,
        alpha: Fraction = 0.4,
        beta: Fraction = 0.6,
        epsilon: PositiveFloat = 0.001,
        demonstration_epsilon: PositiveFloat = 1.0,
    ) -> None:
        super().__init__(buffer_size, alpha, beta, epsilon)
        self.demonstration_epsilon = demonstration_epsilon

    def create_variables(self, *, records: Space) -> None:
        super().create_variables(records=records)
        if self.demonstration_epsilon < self.epsilon:
            raise ComponentError(
                f"{self.path}: demonstration_epsilon must be at least epsilon, {self.epsilon}, got "
                f"{self.demonstration_epsilon}: demonstrations are replayed more often."
            )
        self._kept = self.variable("kept", dtype="int64")

    @api
    def demonstrate(self, records: Any) -> None:
        """Stores demonstrations, before any own record and fewer than `buffer_size`."""
        rows = self.keep(records)
        self.tree.set(rows, self.newest(rows))

    @graph_fn
    def keep(self, records: Tensor) -> Tensor:
        """Writes demonstrations behind those that are there and returns their rows."""
        ops = self.ops
        count = self._kept + ops.batch_size(first_leaf(records))
        ops.require(
            ops.logical_and(ops.equal(self._size, self._kept), count < self.buffer_size),
            f"{self.path}.demonstrate: own records are there already, or no room is left for them "
            f"beside the demonstrations. Demonstrate first, and fewer than buffer_size="
            f"{self.buffer_size}.",
        )
        rows = self._kept + ops.arange(ops.batch_size(first_leaf(records)))
        self._scatter(self._columns, rows, records)
        self._renew(rows)
        for counter in (self._index, self._size, self._kept):
            ops.assign(counter, count)
        return rows

    @api
    @graph_fn
    def demonstrated(self, keys: Tensor) -> Tensor:
        """Which of these records are demonstrations, bool [B]."""
        return keys % self.buffer_size < self._kept

    def _write(self, records: Tensor) -> Tensor:
        """Puts own records into the next rows behind the demonstrations."""
        ops = self.ops
        n, room = ops.batch_size(first_leaf(records)), self.buffer_size - self._kept
        since = self._index - self._kept
        rows = self._kept + (since + ops.arange(n)) % room
        self._scatter(self._columns, rows, records)
        capacity = ops.constant(self.buffer_size, "int64")
        ops.assign(self._size, ops.minimum(self._size + n, capacity))
        ops.assign(self._index, self._kept + (since + n) % room)
        return rows

    @graph_fn
    def current(self, keys: Tensor, td_errors: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """As in other prioritized memories; demonstrations get what their epsilon is larger by."""
        ops = self.ops
        rows, errors, fresh, stale = super().current(keys, td_errors)
        more = self.demonstration_epsilon - self.epsilon
        bonus = more * ops.cast(rows < self._kept, "float32")
        return rows, ops.abs(errors) + bonus, fresh, stale

    def _by_age(self, chunk: int) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """Own records alone: demonstrations come from where they came from before."""
        kept = int(self._kept[()])
        room, size = self.buffer_size - kept, int(self._size[()]) - kept
        first = int(self._index[()]) - kept - size
        for start in range(0, size, chunk):
            rows = kept + (first + np.arange(start, min(size, start + chunk))) % room
            yield rows, map_leaves(lambda column, rows=rows: column[rows], self._columns)
