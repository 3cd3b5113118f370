"""Pooling of images."""

from __future__ import annotations

from collections.abc import Sequence

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.layers.conv2d import PADDINGS
from rlg.graph.spaces import Box, Space


class MaxPool2D(Component):
    """The largest number of each window of an image, channel by channel.

    inputs: float32 [B, H, W, C], also with time; outputs: [B, H', W', C]. The stride is the pool's
    size unless given; padding "same" is TensorFlow's.
    """

    def __init__(
        self,
        pool_size: int | Sequence[int] = 2,
        stride: int | Sequence[int] | None = None,
        padding: str = "valid",
    ) -> None:
        self.pool_size = _pair("pool_size", pool_size)
        self.stride = self.pool_size if stride is None else _pair("stride", stride)
        self.padding = padding

    def create_variables(self, *, inputs: Space) -> None:
        if self.padding not in PADDINGS:
            raise ComponentError(
                f"{self.path}: padding is {self.padding!r}; use {' or '.join(PADDINGS)}."
            )
        if (
            not isinstance(inputs, Box)
            or inputs.dtype != "float32"
            or len(inputs.shape) != 3
            or not inputs.ranks
        ):
            raise SpaceError(
                f"{self.path}: MaxPool2D takes batches of float32 images of shape (height, width, "
                f"channels), but `inputs` is {inputs}. Put a Scale layer before it for uint8 "
                "frames, and give a batch rank: ranks='B'."
            )
        is_small = any(n < k for n, k in zip(inputs.shape, self.pool_size, strict=False))
        if self.padding == "valid" and is_small:
            raise SpaceError(
                f"{self.path}: a pool of {self.pool_size} does not fit into images of "
                f"{inputs.shape[:2]}. Use padding='same', a smaller pool or larger images."
            )

    @api
    @graph_fn(fold_time=True)
    def call(self, inputs: Tensor) -> Tensor:
        return self.ops.max_pool2d(inputs, self.pool_size, self.stride, self.padding)


def _pair(name: str, value: int | Sequence[int]) -> tuple[int, int]:
    numbers = (value, value) if isinstance(value, int) else tuple(value)
    if len(numbers) != 2 or any(not isinstance(n, int) or n < 1 for n in numbers):
        raise ComponentError(
            f"MaxPool2D: {name} is {value!r}; give a positive int or a pair of them."
        )
    return numbers[0], numbers[1]
