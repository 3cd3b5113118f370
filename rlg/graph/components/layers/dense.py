"""The fully connected layer."""

from __future__ import annotations

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.initializers import Initialized, InitializerSpec
from rlg.graph.components.layers.activation import activation_of
from rlg.graph.core.component.ops import WIDE
from rlg.graph.limits import PositiveInt
from rlg.graph.spaces import Box, Space


class Dense(Initialized):
    """Computes activation(inputs @ kernel + bias).

    inputs: float [B, F], also with time; outputs: [B, units].
    """

    def __init__(
        self,
        units: PositiveInt,
        activation: str | None = None,
        bias: bool = True,
        kernel_init: InitializerSpec | None = None,
        bias_init: InitializerSpec | None = None,
    ) -> None:
        self.units = units
        self.activation = activation
        self.bias = bias
        self.kernel_init = kernel_init
        self.bias_init = bias_init

    def create_variables(self, *, inputs: Space) -> None:
        self._activate = activation_of(self.ops, self.activation)
        if self.units < 1:
            raise ComponentError(f"{self.path}: units must be at least 1, got {self.units}.")
        if not isinstance(inputs, Box) or inputs.kind != "float" or len(inputs.shape) != 1:
            raise SpaceError(
                f"{self.path}: Dense takes float vectors, but `inputs` is {inputs}. "
                "Put a Flatten or a Scale layer before it."
            )
        if not inputs.ranks:
            raise SpaceError(
                f"{self.path}: Dense takes batches, but `inputs` is {inputs}. "
                "Give it a batch rank: ranks='B'."
            )
        self._kernel = self.variable(
            "kernel",
            (inputs.shape[0], self.units),
            dtype=inputs.dtype,
            value=self.kernel_values(),
            trainable=True,
        )
        self._is_wide = inputs.shape[0] * self.units >= WIDE
        if self.bias:
            self._bias = self.variable(
                "bias",
                (self.units,),
                dtype=inputs.dtype,
                value=self.bias_values(inputs.shape[0]),
                trainable=True,
            )

    @api
    @graph_fn(fold_time=True)
    def call(self, inputs: Tensor) -> Tensor:
        ops = self.ops
        if self.bias:
            addmm = ops.addmm_wide if self._is_wide else ops.addmm
            outputs = addmm(self._bias, inputs, self._kernel)  # [B, units]
        else:
            outputs = ops.matmul(inputs, self._kernel)
        return self._activate(outputs) if self._activate else outputs
