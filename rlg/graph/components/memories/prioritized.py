"""Prioritized replay: records with a tree of priorities beside their columns."""

from __future__ import annotations

from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Component, Size, Tensor, api, graph_fn
from rlg.graph.components.memories.columns import Columns, sampled_spaces
from rlg.graph.components.memories.priority_tree import PriorityTree
from rlg.graph.spaces import Space


class Prioritized(Component):
    """What memories with priorities share: (|td| + epsilon)^alpha in a tree.

    The largest priority so far is kept in units of TD errors: alpha is applied once.
    """

    on_host = True
    alpha: float
    beta: float
    epsilon: float
    tree: PriorityTree

    def _create_priorities(self) -> None:
        if min(self.alpha, self.beta) < 0.0 or self.epsilon <= 0.0:
            raise ComponentError(
                f"{self.path}: alpha is {self.alpha}, beta {self.beta} and epsilon {self.epsilon}; "
                "give no negative ones, and an epsilon above 0: a priority of 0 is never sampled."
            )
        self._max_priority = self.variable("max_priority", value=1.0)

    @api
    def update(self, rows: Any, td_errors: Any) -> None:
        """Sets the priorities of sampled records anew; of equal rows the last one wins."""
        self.tree.update(rows, self.raised(td_errors))

    @graph_fn
    def newest(self, rows: Tensor) -> Tensor:
        """Leaves of new records: the largest priority so far."""
        ops = self.ops
        return ops.power(self._max_priority + 0.0 * ops.cast(rows, "float32"), self.alpha)

    @graph_fn
    def raised(self, td_errors: Tensor) -> Tensor:
        """Leaves from TD errors; one that is no number counts as the largest so far."""
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

    records: any nested space with a batch rank; priorities, td_errors: [B], of any sign; rows:
    int64 [n], sorted; weights: float32 [n], and the largest of the whole memory is 1. New records
    get the largest priority so far. Draws are stratified: deal them out to replicas by stride.
    """

    on_host = True
    counters = ("index", "size", "max_priority", "tree")

    def __init__(
        self,
        buffer_size: int = 100_000,
        alpha: float = 0.6,
        beta: float = 0.4,
        epsilon: float = 1e-6,
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
        """Records, rows and importance weights (N * P(i))^-beta over their largest."""
        rows, priorities = self.tree.draw(n)
        records, weights = self.read(rows, priorities, self.tree.least(), beta)
        return records, rows, weights

    @graph_fn
    def place(self, records: Tensor) -> Tensor:
        """Writes records and returns their rows."""
        return self._write(records)

    @graph_fn(bounds=sampled_spaces)
    def read(
        self, rows: Tensor, priorities: Tensor, least: Tensor, beta: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Records and weights."""
        return self._gather(self._columns, rows), self._weights(priorities, least, beta)
