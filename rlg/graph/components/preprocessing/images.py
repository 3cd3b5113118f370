"""Images: colours to gray, to black and white, other sizes, parts.

Equal on all backends to the last bit for bytes: the rules are integer arithmetic, or sums of
weights with a rounding that float errors don't reach.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Box, Space

INTERPOLATIONS = ("area", "bilinear")
# Halves go up; so do numbers below a half by less than float32 sums of 255s are wrong by.
_HALF = 0.5 + 1e-3


class Grayscale(Component):
    """The brightness of colours by ITU-R BT.601: 0.299 red + 0.587 green + 0.114 blue.

    inputs: [B, H, W, 3], also with time, nested spaces too; outputs: [B, H, W, 1], without the last
    axis if `keep_rank` is off. Integers are rounded, halves up; floats are not. `weights`: those of
    the three colours, to a thousandth.
    """

    def __init__(
        self, keep_rank: bool = True, weights: Sequence[float] = (0.299, 0.587, 0.114)
    ) -> None:
        self.keep_rank = keep_rank
        self.weights = list(weights)
        if len(self.weights) != 3:
            raise ComponentError(
                f"Grayscale: weights is {list(weights)}; give one for each of red, green and blue."
            )

    def create_variables(self, *, inputs: Space) -> None:
        for box in inputs.flatten().values():
            if box.kind == "bool" or not box.shape or box.shape[-1] != 3:
                raise SpaceError(
                    f"{self.path}: Grayscale takes numbers with a last axis of 3 colours, but "
                    f"`inputs` is {inputs}. Leave it out for what is gray already."
                )

    @api
    @graph_fn(split=True)
    def call(self, inputs: Tensor) -> Tensor:
        ops, dtype = self.ops, self.ops.dtype_of(inputs)
        is_float = dtype.startswith("float")
        colours = inputs if is_float else ops.cast(inputs, "int64")
        red, green, blue = (colours[..., c] for c in range(3))
        if is_float:
            r, g, b = self.weights
            gray = r * red + g * green + b * blue
        else:
            r, g, b = (round(1000 * weight) for weight in self.weights)
            gray = ops.cast((r * red + g * green + b * blue + 500) // 1000, dtype)
        return ops.expand_dims(gray, -1) if self.keep_rank else gray


class ImageBinary(Component):
    """1 where any channel is not 0, else 0.

    inputs: [B, H, W, C], also with time, nested spaces too; outputs: [B, H, W, 1] of the same
    dtype, without the last axis if `keep_rank` is off.
    """

    def __init__(self, keep_rank: bool = True) -> None:
        self.keep_rank = keep_rank

    def create_variables(self, *, inputs: Space) -> None:
        if any(not box.shape for box in inputs.flatten().values()):
            raise SpaceError(
                f"{self.path}: ImageBinary takes images with a last axis of channels, but `inputs` "
                f"is {inputs}."
            )

    @api
    @graph_fn(split=True)
    def call(self, inputs: Tensor) -> Tensor:
        ops = self.ops
        lit = ops.cast(ops.any(ops.cast(inputs, "bool"), -1), ops.dtype_of(inputs))
        return ops.expand_dims(lit, -1) if self.keep_rank else lit


class Resize(Component):
    """Images of another size; "area" is cv2's INTER_AREA for smaller ones, "bilinear" its LINEAR.

    A new pixel is a rectangle on the old image: "area" takes the mean of what it covers; "bilinear"
    mixes the two old pixels in each direction whose centres are nearest to its own, with the
    outermost repeated beyond the border. Integers are rounded, halves up.
    inputs: [B, H, W, C], also with time, nested spaces too; outputs: [B, height, width, C].
    """

    def __init__(self, width: int, height: int, interpolation: str = "area") -> None:
        self.width = width
        self.height = height
        self.interpolation = interpolation

    def create_variables(self, *, inputs: Space) -> None:
        if self.width < 1 or self.height < 1:
            raise ComponentError(
                f"{self.path}: width is {self.width}, height {self.height}; give 1 or more."
            )
        if self.interpolation not in INTERPOLATIONS:
            raise ComponentError(
                f"{self.path}: interpolation is {self.interpolation!r}; use "
                f"{' or '.join(INTERPOLATIONS)}."
            )
        _check_images(self, inputs)

    @api
    @graph_fn(split=True, fold_time=True)
    def call(self, inputs: Tensor) -> Tensor:
        ops, dtype = self.ops, self.ops.dtype_of(inputs)
        height, width, channels = map(int, ops.shape_of(inputs)[1:])  # type: ignore[arg-type]
        is_float = dtype.startswith("float")
        x = inputs if dtype == "float32" else ops.cast(inputs, "float32")
        down = ops.constant(self._weights(height, self.height), "float32")  # [H', H]
        across = ops.constant(self._weights(width, self.width), "float32")  # [W', W]
        x = ops.matmul(down, ops.flatten(x, 2))  # [B, H', W * C]
        x = ops.matmul(across, ops.reshape(x, (-1, width, channels)))  # [B * H', W', C]
        x = ops.reshape(x, (-1, self.height, self.width, channels))
        if is_float:
            return x if dtype == "float32" else ops.cast(x, dtype)
        return ops.cast(ops.floor(x + _HALF), dtype)

    def _weights(self, old: int, new: int) -> NDArray[np.float32]:
        """How much of each old pixel is in each new one: [new, old], rows sum to 1."""
        size = old / new
        starts, pixels = np.arange(new)[:, None] * size, np.arange(old)
        if self.interpolation == "area":
            overlap = np.minimum(starts + size, pixels + 1) - np.maximum(starts, pixels)
            weights = np.maximum(overlap, 0.0) / size
        else:
            centres = np.clip(starts + size / 2 - 0.5, 0, old - 1)
            weights = np.maximum(1.0 - np.abs(centres - pixels), 0.0)
        result: NDArray[np.float32] = weights.astype(np.float32)
        return result


class Crop(Component):
    """The part of images that starts at column `x` and row `y`.

    inputs: [B, H, W, C], also with time, nested spaces too; outputs: [B, height, width, C].
    """

    def __init__(self, x: int, y: int, width: int, height: int) -> None:
        self.x = x
        self.y = y
        self.width = width
        self.height = height

    def create_variables(self, *, inputs: Space) -> None:
        _check_images(self, inputs)
        for box in inputs.flatten().values():
            rows, columns = range(box.shape[0] + 1), range(box.shape[1] + 1)
            fits = self.y + self.height in rows and self.x + self.width in columns
            if min(self.x, self.y) < 0 or min(self.width, self.height) < 1 or not fits:
                raise ComponentError(
                    f"{self.path}: x={self.x}, y={self.y}, width={self.width}, "
                    f"height={self.height} is no part of images of {box.shape[:2]} (height, "
                    "width). Give one that lies inside."
                )

    @api
    @graph_fn(split=True, fold_time=True)
    def call(self, inputs: Tensor) -> Tensor:
        return inputs[:, self.y : self.y + self.height, self.x : self.x + self.width]


def _check_images(component: Component, inputs: Space) -> None:
    for box in inputs.flatten().values():
        if not isinstance(box, Box) or box.kind == "bool" or len(box.shape) != 3 or not box.ranks:
            raise SpaceError(
                f"{component.path}: {type(component).__name__} takes batches of images of shape "
                f"(height, width, channels), but `inputs` is {inputs}. Give it such boxes, with a "
                "batch rank."
            )
