"""Several passes over one batch, in one call."""

from __future__ import annotations

from typing import Any

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Size, Tensor, api, graph_fn
from rlg.graph.registry import make
from rlg.graph.spaces import Box, Space, flatten, map_leaves, path_name


class IterativeOptimization(Component):
    """Updates a learner on shuffled minibatches of one batch: Schulman et al. (2017).

    learner: a component with `update_from(records)`, whose outputs are single numbers (the loss,
    diagnostics); a learning_rate goes to it as the second argument. records: any nested space,
    [B, ...]; with time ([T, B, ...] or [B, T, ...]) the steps are records of their own. Each of
    `n_epochs` is a permutation of all records, cut into minibatches of `batch_size`; what is left
    over at its end waits for the next one. A batch smaller than `batch_size` fills one minibatch by
    repetition. Gives the means of the outputs over all updates.
    """

    def __init__(self, learner: Any, n_epochs: int = 10, batch_size: int = 64) -> None:
        self.learner = make(learner)
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        if n_epochs < 1 or batch_size < 1:
            raise ComponentError(
                f"{self.path_or_name}: n_epochs is {n_epochs} and batch_size {batch_size}; give "
                "1 or more of both."
            )

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
        rows = self.minibatches(self.draw(records))
        carry = (records,) if learning_rate is None else (records, learning_rate)
        _, outputs = self.scan(self.step, carry, rows)
        return self.average(outputs)

    @api
    def step(self, carry: Any, rows: Any) -> Any:
        """One update, of the records in these rows."""
        records, *rate = carry
        minibatch = self.take(records, rows, self.batch_size)
        return carry, self.learner.update_from(minibatch, *rate)

    @graph_fn
    def fold(self, records: Tensor) -> Tensor:
        return map_leaves(self.ops.fold_time, records) if self._has_time else records

    @graph_fn
    def draw(self, records: Tensor) -> Tensor:
        """A number for each record in each epoch: their order is the permutation."""
        n = self.ops.batch_size(next(iter(flatten(records).values())))
        return self.ops.random_uniform((n, self.n_epochs))

    def _rows(self, draws: Box) -> Box:
        """Declared: the number of minibatches is that of no input."""
        return Box((self.batch_size,), "int64", ranks="T")

    def _count(self, draws: Box) -> dict[str, Any]:
        """Known before the call all the same: updates may draw, such as an entropy by samples."""
        return {"T": ("product", self.n_epochs, ("quotient", draws.ranks, self.batch_size))}

    @graph_fn(spaces=_rows, lengths=_count)
    def minibatches(self, draws: Tensor) -> Tensor:
        """Rows of records, [updates, batch_size]."""
        ops, size = self.ops, self.batch_size
        n = ops.cast(ops.batch_size(draws), "int64")
        count = ops.maximum(n // size, ops.constant(1, "int64"))  # minibatches of an epoch
        order = ops.argsort(draws, 0)  # [B, epochs]
        places = ops.arange(count * size) % n
        rows = ops.transpose(ops.take_rows(order, places), (1, 0))  # [epochs, count * size]
        return ops.reshape(rows, (-1, size))

    @graph_fn
    def take(self, records: Tensor, rows: Tensor, n: Size) -> Tensor:
        """Records of these rows; `n` is their number, and says so to what follows."""
        ops = self.ops
        rows = ops.take_rows(rows, ops.arange(n) % self.batch_size)
        return map_leaves(lambda x: ops.take_rows(x, rows), records)

    @graph_fn(split=True)
    def average(self, outputs: Tensor) -> Tensor:
        return self.ops.mean(outputs, 0)
