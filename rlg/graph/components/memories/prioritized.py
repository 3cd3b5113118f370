"""Prioritized replay: records with a tree of priorities beside their columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rlg.errors import ComponentError
from rlg.graph import Component, Size, Tensor, api, graph_fn
from rlg.graph.components.memories.columns import Columns, weighted_spaces
from rlg.graph.components.memories.priority_tree import PriorityTree
from rlg.graph.limits import Fraction, PositiveFloat, PositiveInt
from rlg.graph.spaces import Space


class Prioritized(Component):
    """What memories with priorities share: (|td| + epsilon)^alpha in a tree, and keys of records.

    The largest priority so far is kept in units of TD errors: alpha is applied once. A record's key
    is its row + buffer_size * generation, which counts how often the row was overwritten: errors
    that arrive late don't hit a newer record.
    """

    on_host = True
    variable_kind = "record"
    buffer_size: PositiveInt
    alpha: Fraction
    beta: Fraction
    epsilon: PositiveFloat
    tree: PriorityTree

    def _create_priorities(self) -> None:
        if min(self.alpha, self.beta) < 0.0 or self.epsilon <= 0.0:
            raise ComponentError(
                f"{self.path}: alpha is {self.alpha}, beta {self.beta} and epsilon {self.epsilon}; "
                "give no negative ones, and an epsilon above 0: a priority of 0 is never sampled."
            )
        self._max_priority = self.variable("max_priority", value=1.0)
        rows = (self.buffer_size,)
        self._generations = self.variable("generations", rows, dtype="int64", value=-1)

    @api
    def update(self, keys: Any, td_errors: Any) -> Any:
        """Sets the priorities of sampled records anew; of equal keys the last one wins.

        Returns how many keys were stale, of records that are gone: these are ignored.
        """
        rows, td_errors, fresh, stale = self.current(keys, td_errors)
        self.tree.update(rows, self.raised(td_errors), fresh)
        return stale

    @graph_fn
    def current(self, keys: Tensor, td_errors: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Rows, errors (0 of stale keys), which keys are those of the records there, the others."""
        ops = self.ops
        rows = keys % self.buffer_size
        fresh = ops.equal(self._keys(rows), keys)
        stale = ops.sum(ops.cast(ops.logical_not(fresh), "int64"))
        return rows, ops.where(fresh, td_errors, ops.zeros_like(td_errors)), fresh, stale

    def _keys(self, rows: Tensor) -> Tensor:
        return rows + self.buffer_size * self.ops.take_rows(self._generations, rows)

    def _renew(self, rows: Tensor) -> None:
        """New records are in these rows."""
        ops = self.ops
        ops.scatter_rows(self._generations, rows, ops.take_rows(self._generations, rows) + 1)

    def errors_of(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The TD errors behind the priorities of these rows, read on the host; 0 where none is."""
        leaves = self.tree.leaves_of(rows)
        raised = leaves ** (1.0 / self.alpha) if self.alpha else np.ones_like(leaves)
        return np.where(leaves > 0, np.maximum(raised - self.epsilon, 0), 0).astype(np.float32)

    @graph_fn
    def newest(self, rows: Tensor) -> Tensor:
        """Leaves of new records: the largest priority so far."""
        ops = self.ops
        return ops.power(self._max_priority + 0.0 * ops.cast(rows, "float32"), self.alpha)

    @graph_fn
    def raised(self, td_errors: Tensor) -> Tensor:
        """Leaves from TD errors; one that is not a number counts as the largest so far."""
        return self.ops.priority_raise(self._max_priority, td_errors, self.epsilon, self.alpha)

    def _weights(self, priorities: Tensor, least: Tensor, beta: Tensor | None) -> Tensor:
        """Number of records and total cancel out; the rarest record has the largest weight."""
        ops = self.ops
        ops.require(
            least < 1e300,
            f"{self.path}.sample: the memory is empty. Insert records before you sample.",
        )
        shares = ops.cast(least / priorities, "float32")
        return ops.power(shares, self.beta if beta is None else beta)


def has_priorities(memory: Component) -> bool:
    """Whether records differ in their chances: with an alpha of 0 all weights are 1."""
    return isinstance(memory, Prioritized) and memory.alpha > 0.0


class PrioritizedReplay(Columns, Prioritized):
    """Samples records in proportion to (|td| + epsilon)^alpha: Schaul et al. (2016).

    records: any nested space with a batch rank; priorities, td_errors: [B], of any sign; keys:
    int64 [n], by row; weights: float32 [n], and the largest of the whole memory is 1. New records
    get the largest priority so far. Draws are stratified: deal them out to replicas by stride.
    """

    on_host = True
    counters: ClassVar[tuple[str, ...]] = ("index", "size", "max_priority", "generations", "tree")

    def __init__(
        self,
        buffer_size: PositiveInt = 100_000,
        alpha: Fraction = 0.6,
        beta: Fraction = 0.4,
        epsilon: PositiveFloat = 1e-6,
    ) -> None:
        super().__init__(buffer_size)
        self.alpha = alpha
        self.beta = beta
        self.epsilon = epsilon
        self.tree = PriorityTree(buffer_size)

    def create_variables(self, *, records: Space) -> None:
        super().create_variables(records=records)
        self._create_priorities()

    @api
    def insert(self, records: Any, priorities: Any = None) -> None:
        """Overwrites the oldest; of more than `buffer_size` records the last ones stay."""
        rows = self.place(records)
        leaves = self.newest(rows) if priorities is None else self.raised(priorities)
        self.tree.set(rows, leaves)

    @api
    def sample(self, n: Size, beta: Any = None) -> Any:
        """Records, keys and importance weights (N * P(i))^-beta over their largest."""
        rows, priorities = self.tree.draw(n)
        return self.read(rows, priorities, self.tree.least(), beta)

    def export(self, chunk: int = 4096) -> Iterator[tuple[Any, NDArray[np.float32]]]:
        """Records and TD errors of all that is there, oldest first, as `insert` takes them.

        For other memories, of any size. Not a part of the graph: it reads the arrays on the host.
        """
        for rows, records in self._by_age(chunk):
            yield records, self.errors_of(rows)

    @graph_fn
    def place(self, records: Tensor) -> Tensor:
        """Writes records and returns their rows."""
        rows = self._write(records)
        self._renew(rows)
        return rows

    @graph_fn(bounds=weighted_spaces)
    def read(
        self, rows: Tensor, priorities: Tensor, least: Tensor, beta: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Records, keys and weights."""
        weights = self._weights(priorities, least, beta)
        return self._gather(self._columns, rows), self._keys(rows), weights
