"""Priorities in binary trees: proportional draws in as many steps as the tree has levels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlg.errors import ComponentError
from rlg.graph import Component, Size, Tensor, Variable, api, graph_fn
from rlg.graph.core.component.ops import EMPTY
from rlg.graph.limits import PositiveInt


class PriorityTree(Component):
    """Sums and minima of `buffer_size` priorities in float64: Schaul et al. (2016), appendix B.2.1.

    rows: int64 [B], priorities: float [B], not negative; a row of priority 0 is never drawn.
    """

    on_host = True
    variable_kind = "record"

    def __init__(self, buffer_size: PositiveInt = 100_000) -> None:
        self.buffer_size = buffer_size

    def create_variables(self) -> None:
        if self.buffer_size < 1:
            raise ComponentError(
                f"{self.path}: buffer_size must be at least 1, got {self.buffer_size}."
            )
        self.leaves = 1 << (self.buffer_size - 1).bit_length()
        self._sums = self.variable("sums", (2 * self.leaves,), dtype="float64")
        self._mins = self.variable("mins", (2 * self.leaves,), dtype="float64", value=EMPTY)

    @api
    @graph_fn
    def set(self, rows: Tensor, priorities: Tensor) -> None:
        """Overwrites priorities; of equal rows the last one wins."""
        ops = self.ops
        ops.priority_set(self._sums, self._mins, rows, ops.cast(priorities, "float64"))

    @api
    @graph_fn
    def update(self, rows: Tensor, priorities: Tensor, chosen: Tensor | None = None) -> None:
        """Overwrites the priorities of rows that have one; those without stay without.

        chosen: bool [B], where it is False nothing happens.
        """
        ops = self.ops
        values = ops.cast(priorities, "float64")
        if chosen is None:
            ops.priority_set(self._sums, self._mins, rows, values, True)
            return
        ops.cond(
            ops.all(chosen),
            lambda: ops.priority_set(self._sums, self._mins, rows, values, True),
            lambda: ops.priority_set(
                self._sums, self._mins, *self._without(rows, values, chosen), True
            ),
        )

    def _without(self, rows: Tensor, values: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """Repeats the last chosen entry in place of each that is not: sizes stay as they are.

        The last one wins among equal rows, so repeating it changes nothing; where none is chosen,
        the first row gets what it has.
        """
        ops = self.ops
        last = ops.argmax(ops.where(chosen, 1 + ops.arange(ops.batch_size(rows)), 0 * rows), 0)
        row = ops.take_rows(rows, last)
        now = ops.take_rows(self._sums, row + self.leaves)
        value = ops.where(ops.any(chosen), ops.take_rows(values, last), now)
        return ops.where(chosen, rows, row), ops.where(chosen, values, value)

    @api
    @graph_fn
    def get(self, rows: Tensor) -> Tensor:
        """Priorities, float64 [B]."""
        return self.ops.take_rows(self._sums, rows + self.leaves)

    def leaves_of(self, rows: Any) -> Any:
        """Priorities, float64 [B], read on the host and not through the graph."""
        return np.asarray(self._sums)[rows + self.leaves]

    @api
    @graph_fn
    def draw(self, n: Size) -> tuple[Tensor, Tensor]:
        """Rows [n] and their priorities, one from each n-th part of the total: sorted."""
        return self.ops.priority_draw(self._sums, self.ops.random_uniform((n,), "float64"))

    @api
    @graph_fn
    def find(self, prefixes: Tensor) -> Tensor:
        """The rows [B] where running sums pass `prefixes`, from 0 to the total."""
        return self.ops.priority_find(self._sums, self.ops.cast(prefixes, "float64"))

    @api
    @graph_fn
    def sum(self, start: Tensor, stop: Tensor | None = None) -> Tensor:
        """Over rows from `start` up to but not with `stop` (default: all; negative: from the end).

        start, stop: int64 [B]; float64 [B].
        """
        zeros = 0.0 * self.ops.cast(start, "float64")
        return self._over(self._sums, start, stop, zeros, lambda x, y: x + y)

    @api
    @graph_fn
    def min(self, start: Tensor, stop: Tensor | None = None) -> Tensor:
        """The least priority above 0 over such a range; the largest float64 if there is none."""
        empty = 0.0 * self.ops.cast(start, "float64") + EMPTY
        return self._over(self._mins, start, stop, empty, self.ops.minimum)

    @api
    @graph_fn
    def total(self) -> Tensor:
        """The sum of all."""
        return self._root(self._sums)

    @api
    @graph_fn
    def least(self) -> Tensor:
        """The least priority above 0; the largest float64 if there is none."""
        return self._root(self._mins)

    def _root(self, tree: Variable) -> Tensor:
        return self.ops.take_rows(tree, self.ops.constant(1, "int64"))

    def _over(
        self,
        tree: Variable,
        start: Tensor,
        stop: Tensor | None,
        result: Tensor,
        combine: Callable[[Tensor, Tensor], Tensor],
    ) -> Tensor:
        """From both ends of a range upwards, taking the nodes that stick out of their parents."""
        ops, neutral = self.ops, result
        end = 0 * start + self.buffer_size if stop is None else stop
        low = ops.where(start < 0, start + self.buffer_size, start) + self.leaves
        high = ops.where(end < 0, end + self.buffer_size, end) + self.leaves
        for _ in range(self.leaves.bit_length()):
            takes_low = ops.logical_and(low < high, low % 2 == 1)
            node = ops.where(takes_low, low, 0 * low)
            result = combine(result, ops.where(takes_low, ops.take_rows(tree, node), neutral))
            low = ops.where(takes_low, low + 1, low)
            takes_high = ops.logical_and(low < high, high % 2 == 1)
            node = ops.where(takes_high, high - 1, 0 * high)
            result = combine(result, ops.where(takes_high, ops.take_rows(tree, node), neutral))
            low, high = low // 2, high // 2
        return result
