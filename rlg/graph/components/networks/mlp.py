"""The multi-layer perceptron."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlg.graph import Static, api
from rlg.graph.components.initializers import InitializerSpec
from rlg.graph.components.layers.dense import Dense
from rlg.graph.components.layers.vectors import Vectors
from rlg.graph.components.networks.stack import Stack


class MLP(Stack):
    """Dense layers of `units` each, all with the same activation, over one vector of the inputs.

    inputs: float [B, F], or any other space that a `vectors` layer makes one of (categories become
    one-hot, the leaves of Dicts and Tuples stand side by side), also with time; outputs: [B,
    units[-1]].
    """

    def __init__(
        self,
        units: Sequence[int] = (64, 64),
        activation: str = "relu",
        kernel_init: InitializerSpec | None = None,
        bias_init: InitializerSpec | None = None,
    ) -> None:
        self.units = list(units)
        self.activation = activation
        self.kernel_init = kernel_init
        self.bias_init = bias_init
        self.vectors = Vectors()
        inits: dict[str, Any] = {"kernel_init": kernel_init, "bias_init": bias_init}
        super().__init__([Dense(n, activation, **inits) for n in self.units])

    @api
    def call(self, inputs: Any, update: Static[bool] = False) -> Any:
        return super().call(self.vectors.call(inputs), update)
