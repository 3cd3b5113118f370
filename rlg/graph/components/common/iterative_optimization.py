"""Several passes over one batch, in one call."""

from __future__ import annotations

from typing import Any

from rlg.errors import SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.common.minibatches import Minibatches
from rlg.graph.limits import PositiveInt
from rlg.graph.registry import make
from rlg.graph.spaces import Space, map_leaves, path_name


class IterativeOptimization(Component):
    """Updates a learner on shuffled minibatches of one batch: Schulman et al. (2017).

    learner: a component with `update_from(records)`, whose outputs are single numbers (the loss,
    diagnostics); a learning_rate goes to it as the second argument. records: any nested space,
    [B, ...]; with time ([T, B, ...] or [B, T, ...]) the steps are records of their own. Permuted
    `n_epochs` times and cut as Minibatches says. Returns the means of the outputs over all updates.
    """

    def __init__(self, learner: Any, n_epochs: int = 10, batch_size: PositiveInt = 64) -> None:
        self.learner = make(learner)
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.minibatches = Minibatches(n_epochs, batch_size)

    def create_variables(self, *, records: Space) -> None:
        ranks = {box.ranks for box in records.flatten().values()}
        if len(ranks) > 1 or not ranks <= {"B", "F", "TB", "BT"}:
            listed = ", ".join(f"{path_name(p)}: {b}" for p, b in records.flatten().items())
            raise SpaceError(
                f"{self.path}: `records` is {listed}. Give all leaves the same ranks, 'B', 'TB' or "
                "'BT'."
            )
        self._has_time = len(ranks.pop()) == 2

    @api
    def update(self, records: Any, learning_rate: Any = None) -> Any:
        """Learns from the records; the updates happen one after the other."""
        records = self.fold(records)
        rows = self.minibatches.rows(records)
        carry = (records,) if learning_rate is None else (records, learning_rate)
        _, outputs = self.scan(self.step, carry, rows)
        return self.average(outputs)

    @api
    def step(self, carry: Any, rows: Any) -> Any:
        """One update, of the records in these rows."""
        records, *rate = carry
        minibatch = self.minibatches.take(records, rows, self.batch_size)
        return carry, self.learner.update_from(minibatch, *rate)

    @graph_fn
    def fold(self, records: Tensor) -> Tensor:
        return map_leaves(self.ops.fold_time, records) if self._has_time else records

    @graph_fn(split=True)
    def average(self, outputs: Tensor) -> Tensor:
        return self.ops.mean(outputs, 0)
