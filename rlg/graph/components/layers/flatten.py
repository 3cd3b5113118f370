"""The layer that makes vectors of anything."""

from __future__ import annotations

from rlg.errors import SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Box, Space


class Flatten(Component):
    """Makes one vector of each item, images in HWC order.

    inputs: [B, ...], also with time; outputs: [B, F].
    """

    def create_variables(self, *, inputs: Space) -> None:
        if not isinstance(inputs, Box) or not inputs.ranks:
            raise SpaceError(
                f"{self.path}: Flatten takes a batch of tensors, but `inputs` is {inputs}. "
                "Take containers apart first, and give a batch rank: ranks='B'."
            )

    @api
    @graph_fn(fold_time=True)
    def call(self, inputs: Tensor) -> Tensor:
        return self.ops.flatten(inputs)
