"""Dense layers that explore by noise on their weights."""

from __future__ import annotations

import math
from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Static, Tensor, api, graph_fn
from rlg.graph.components.initializers import InitializerSpec
from rlg.graph.components.layers.dense import Dense
from rlg.graph.limits import PositiveFloat, PositiveInt
from rlg.graph.spaces import Box, Space


class NoisyDense(Dense):
    """A dense layer with learned noise on kernel and bias: Fortunato et al. (2018), equation 9.

    With `noise` one kernel is drawn for the whole batch: kernel + kernel_sigma * f(e_in) f(e_out),
    bias + bias_sigma * f(e_out), f(x) = sign(x) sqrt|x|, e standard normal. Without it, as for
    evaluation, the layer is an ordinary one. Both sigmas start at sigma_init / sqrt(inputs).
    inputs: float [B, F], also with time; outputs: [B, units].
    """

    def __init__(
        self,
        units: PositiveInt,
        activation: str | None = None,
        bias: bool = True,
        kernel_init: InitializerSpec | None = None,
        bias_init: InitializerSpec | None = None,
        sigma_init: PositiveFloat = 0.5,
    ) -> None:
        super().__init__(units, activation, bias, kernel_init, bias_init)
        self.sigma_init = sigma_init

    def create_variables(self, *, inputs: Space) -> None:
        super().create_variables(inputs=inputs)
        assert isinstance(inputs, Box)
        if self.sigma_init <= 0.0:
            raise ComponentError(f"{self.path}: sigma_init must be above 0, got {self.sigma_init}.")
        size = inputs.shape[0]
        shapes = {"kernel_sigma": (size, self.units), "bias_sigma": (self.units,)}
        if not self.bias:
            del shapes["bias_sigma"]
        sigma = self.sigma_init / math.sqrt(size)
        self._sigmas = {
            name: self.variable(name, shape, dtype=inputs.dtype, value=sigma, trainable=True)
            for name, shape in shapes.items()
        }

    @api
    @graph_fn(fold_time=True)
    def call(self, inputs: Tensor, noise: Static[bool] = False) -> Tensor:
        ops = self.ops
        kernel, bias = self._kernel, self._bias if self.bias else None
        if noise:
            size = ops.shape_of(self._kernel)[0]
            rows, columns = self._noise((size, 1)), self._noise((1, self.units))
            kernel = kernel + self._sigmas["kernel_sigma"] * (rows * columns)
            if bias is not None:
                bias = bias + self._sigmas["bias_sigma"] * ops.squeeze(columns, 0)
        addmm = ops.addmm_wide if self._is_wide else ops.addmm
        outputs = ops.matmul(inputs, kernel) if bias is None else addmm(bias, inputs, kernel)
        return self._activate(outputs) if self._activate else outputs

    def _noise(self, shape: tuple[Any, ...]) -> Tensor:
        ops = self.ops
        normal = ops.random_normal(shape)
        return ops.sign(normal) * ops.sqrt(ops.abs(normal))


def dense(units: int, activation: str | None = None, noisy: bool = False, **options: Any) -> Dense:
    """A dense layer, or a noisy one."""
    return (NoisyDense if noisy else Dense)(units, activation, **options)
