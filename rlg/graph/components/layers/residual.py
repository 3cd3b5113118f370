"""Layers beside which the inputs pass unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlg.errors import SpaceError
from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.components.networks.stack import Stack
from rlg.graph.spaces import Space


class Residual(Component):
    """Adds what its layers make of the inputs to the inputs: He et al. (2016).

    `layers` are components or their specs. inputs: what they take; outputs: the same space.
    """

    def __init__(self, layers: Sequence[Any]) -> None:
        self.layers = Stack(layers)

    def create_variables(self, *, inputs: Space, change: Space) -> None:
        if not inputs.like(change):
            raise SpaceError(
                f"{self.path}: its layers make {change} of {inputs}, which can't be added. Let the "
                "last one give what comes in: as many units or filters, stride 1, padding='same'."
            )

    @api
    def call(self, inputs: Any, update: Static[bool] = False, noise: Static[bool] = False) -> Any:
        return self.add(inputs, self.layers.call(inputs, update, noise))

    @graph_fn
    def add(self, inputs: Tensor, change: Tensor) -> Tensor:
        return inputs + change
