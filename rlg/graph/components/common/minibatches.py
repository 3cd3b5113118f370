"""Shuffled minibatches of one batch."""

from __future__ import annotations

from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Component, Size, Tensor, api, graph_fn
from rlg.graph.spaces import Box, flatten, map_leaves


class Minibatches(Component):
    """Permutes a batch once per epoch and cuts it into minibatches: Schulman et al. (2017).

    records: any nested space, all leaves [B, ...] or [B, T, ...]: sequences stay whole. Each of
    `n_epochs` is a permutation of all records, cut into minibatches of `batch_size` of them; what
    is left over at its end waits for the next one. A batch smaller than `batch_size` fills one
    minibatch by repetition. rows: int64 [updates, batch_size].
    """

    def __init__(self, n_epochs: int = 10, batch_size: int = 64) -> None:
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        if n_epochs < 1 or batch_size < 1:
            raise ComponentError(
                f"{self.path_or_name}: n_epochs is {n_epochs} and batch_size {batch_size}; give "
                "1 or more of both."
            )

    @api
    def rows(self, records: Tensor) -> Tensor:
        """Which records make up each minibatch."""
        return self.cut(self.draw(records))

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
    def cut(self, draws: Tensor) -> Tensor:
        ops, size = self.ops, self.batch_size
        n = ops.cast(ops.batch_size(draws), "int64")
        count = ops.maximum(n // size, ops.constant(1, "int64"))  # minibatches of an epoch
        order = ops.argsort(draws, 0)  # [B, epochs]
        places = ops.arange(count * size) % n
        rows = ops.transpose(ops.take_rows(order, places), (1, 0))  # [epochs, count * size]
        return ops.reshape(rows, (-1, size))

    @api
    @graph_fn
    def take(self, records: Tensor, rows: Tensor, n: Size) -> Tensor:
        """Records of these rows; `n` is their number, and says so to what follows."""
        ops = self.ops
        rows = ops.take_rows(rows, ops.arange(n) % self.batch_size)
        return map_leaves(lambda x: ops.take_rows(x, rows), records)
