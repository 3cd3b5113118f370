"""State values."""

from __future__ import annotations

from typing import Any

from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.initializers import InitializerSpec
from rlg.graph.components.layers.dense import Dense
from rlg.graph.components.networks.stack import Stack
from rlg.graph.limits import PositiveInt


class ValueHead(Component):
    """One number for each state, by a linear layer, with `units` after a hidden one.

    inputs: features [B, F], also with time; outputs: [B].
    """

    def __init__(
        self,
        units: PositiveInt | None = None,
        activation: str = "relu",
        kernel_init: InitializerSpec | None = None,
    ) -> None:
        self.units = units
        self.activation = activation
        self.kernel_init = kernel_init
        hidden = [] if units is None else [Dense(units, activation, kernel_init=kernel_init)]
        self.output = Stack([*hidden, Dense(1, kernel_init=kernel_init)])

    @api
    def call(self, inputs: Any) -> Any:
        return self.arrange(self.output.call(inputs))

    @graph_fn(fold_time=True)
    def arrange(self, outputs: Tensor) -> Tensor:
        return self.ops.squeeze(outputs, -1)
