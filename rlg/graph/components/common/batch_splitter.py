"""Batches taken apart."""

from __future__ import annotations

from typing import Any

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Space, flatten, map_leaves, path_name


class BatchSplitter(Component):
    """Returns `num_parts` equal parts of a batch, one output for each, in order.

    inputs: any nested space, [B, ...] or [B, T, ...]; parts: [B / num_parts, ...]. A batch that
    can't be divided is refused: equal parts weigh equally when replicas average their gradients,
    and nothing of a batch should be lost on the way.
    """

    def __init__(self, num_parts: int) -> None:
        self.num_parts = num_parts
        if num_parts < 1:
            raise ComponentError(
                f"{self.path_or_name}: num_parts must be at least 1, got {num_parts}."
            )

    def create_variables(self, *, inputs: Space) -> None:
        for path, box in inputs.flatten().items():
            if not box.ranks.startswith("B"):
                raise SpaceError(
                    f"{self.path}: `inputs{'/' if path else ''}{path_name(path)}` is {box}, "
                    "which has no leading batch. Give it a rank: ranks='B' or ranks='BT'."
                )

    def _spaces(self, inputs: Space) -> tuple[Space, ...]:
        """Declared: a dry run would take small parts for fixed sizes."""
        return (inputs,) * self.num_parts

    @api
    @graph_fn(outputs=lambda self: self.num_parts, spaces=_spaces)
    def call(self, inputs: Tensor) -> Any:
        ops, parts = self.ops, self.num_parts
        if parts == 1:
            return inputs
        size = ops.batch_size(next(iter(flatten(inputs).values())))
        ops.require(
            ops.equal(ops.cast(size % parts, "int64"), 0),
            f"{self.path}.call: the batch can't be divided into {parts} equal parts. Give a batch "
            f"size that is a multiple of {parts}.",
        )
        n = size // parts
        return tuple(self._part(inputs, i * n, n) for i in range(parts))

    def _part(self, inputs: Tensor, start: Any, n: Any) -> Tensor:
        return map_leaves(lambda x: x[start : start + n], inputs)
