"""The convolution over images."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.initializers import Initialized, InitializerSpec
from rlg.graph.components.layers.activation import activation_of
from rlg.graph.limits import PositiveInt
from rlg.graph.spaces import Box, Space

PADDINGS = ("valid", "same")


class Conv2D(Initialized):
    """Slides a kernel over images: activation(conv(inputs, kernel) + bias).

    inputs: float [B, H, W, C], also with time; outputs: [B, H', W', filters]. The kernel is HWIO;
    padding "same" is TensorFlow's.
    """

    needs_room = True  # whether kernels must fit into images

    def __init__(
        self,
        filters: PositiveInt,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: str = "valid",
        activation: str | None = None,
        bias: bool = True,
        kernel_init: InitializerSpec | None = None,
        bias_init: InitializerSpec | None = None,
    ) -> None:
        self.filters = filters
        self.kernel_size = _pair("kernel_size", kernel_size)
        self.stride = _pair("stride", stride)
        self.padding = padding
        self.activation = activation
        self.bias = bias
        self.kernel_init = kernel_init
        self.bias_init = bias_init

    def create_variables(self, *, inputs: Space) -> None:
        self._activate = activation_of(self.ops, self.activation)
        channels = self._check(inputs).shape[-1]
        self._kernel = self.variable(
            "kernel",
            (*self.kernel_size, channels, self.filters),
            value=self.kernel_values(),
            trainable=True,
        )
        self._bias = None
        if self.bias:
            self._bias = self.variable(
                "bias",
                (self.filters,),
                value=self.bias_values(math.prod(self.kernel_size) * channels),
                trainable=True,
            )

    @api
    @graph_fn(fold_time=True)
    def call(self, inputs: Tensor) -> Tensor:
        outputs = self.ops.conv2d(  # [B, H', W', filters]
            inputs, self._kernel, self.stride, self.padding, self._bias
        )
        return self._activate(outputs) if self._activate else outputs

    def _check(self, inputs: Space) -> Box:
        if self.filters < 1:
            raise ComponentError(f"{self.path}: filters must be at least 1, got {self.filters}.")
        if self.padding not in PADDINGS:
            raise ComponentError(
                f"{self.path}: padding is {self.padding!r}; use {' or '.join(PADDINGS)}."
            )
        if not isinstance(inputs, Box) or inputs.dtype != "float32" or len(inputs.shape) != 3:
            raise SpaceError(
                f"{self.path}: Conv2D takes float32 images of shape (height, width, channels), but "
                f"`inputs` is {inputs}. Put a Scale layer before it for uint8 frames."
            )
        if not inputs.ranks:
            raise SpaceError(
                f"{self.path}: Conv2D takes batches, but `inputs` is {inputs}. "
                "Give it a batch rank: ranks='B'."
            )
        is_small = any(n < k for n, k in zip(inputs.shape, self.kernel_size, strict=False))
        if self.padding == "valid" and is_small and self.needs_room:
            raise SpaceError(
                f"{self.path}: a kernel of {self.kernel_size} does not fit into images of "
                f"{inputs.shape[:2]}. Use padding='same', a smaller kernel or larger images."
            )
        return inputs


def _pair(name: str, value: int | Sequence[int]) -> tuple[int, int]:
    numbers = (value, value) if isinstance(value, int) else tuple(value)
    if len(numbers) != 2 or any(not isinstance(n, int) or n < 1 for n in numbers):
        raise ComponentError(f"Conv2D: {name} is {value!r}; give a positive int or a pair of them.")
    return numbers[0], numbers[1]
