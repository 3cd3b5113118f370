"""The multi-layer perceptron."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlg.graph.components.initializers import InitializerSpec
from rlg.graph.components.layers.dense import Dense
from rlg.graph.components.networks.stack import Stack


class MLP(Stack):
    """Dense layers of `units` each, all with the same activation.

    inputs: float [B, F], also with time; outputs: [B, units[-1]].
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
        inits: dict[str, Any] = {"kernel_init": kernel_init, "bias_init": bias_init}
        super().__init__([Dense(n, activation, **inits) for n in self.units])
