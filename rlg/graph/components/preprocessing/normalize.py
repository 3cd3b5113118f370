"""Numbers from their bounds into a common range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Box, Path, Space, flatten, path_name, unflatten
from rlg.graph.spaces.bounds import LIMITS


class Normalize(Component):
    """Moves numbers from the bounds of their space into [low, high].

    inputs: boxes with bounds (for bytes 0 and 255 unless given), any ranks, nested spaces too;
    outputs: the same shapes in float32. [-1, 1] is low=-1.
    """

    def __init__(self, low: float = 0.0, high: float = 1.0) -> None:
        self.low = low
        self.high = high

    def create_variables(self, *, inputs: Space) -> None:
        if self.low >= self.high:
            raise ComponentError(
                f"{self.path}: low is {self.low} and high {self.high}; give a low below high."
            )
        # path -> factor and offset, as exact as float32 allows.
        self._maps = {path: self._map(path, box) for path, box in inputs.flatten().items()}

    def _map(self, path: Path, box: Box) -> tuple[NDArray[Any], NDArray[Any]]:
        ends = LIMITS["uint8"] if box.dtype == "uint8" else (np.nan, np.nan)
        low, high = (
            np.asarray(end if bound is None else bound, np.float64)
            for bound, end in zip((box.low, box.high), ends, strict=True)
        )
        if not np.isfinite(high - low).all() or np.any(low == high):
            raise SpaceError(
                f"{self.path}: Normalize needs two different, finite bounds, but "
                f"`{path_name(path) or 'inputs'}` is {box}. Give its space low and high, or use "
                "moving_standardize."
            )
        factor = (self.high - self.low) / (high - low)
        return factor, self.low - low * factor

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        ops, outputs = self.ops, {}
        for path, x in flatten(inputs).items():
            factor, offset = (ops.constant(number, "float32") for number in self._maps[path])
            outputs[path] = ops.cast(x, "float32") * factor + offset
        return unflatten(outputs, inputs)
