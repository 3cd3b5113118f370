"""Actions that no policy chooses."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlg.errors import SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.heads.leaves import is_bounded
from rlg.graph.core.component.ops import Size
from rlg.graph.spaces import Box, Path, flatten, path_name, space_from_spec, unflatten


class UniformActions(Component):
    """Draws actions uniformly from an action space, also a nested one; floats need both bounds.

    states: any, [B, ...], of which only the number counts; actions: [B, ...], those of the space.
    """

    def __init__(self, action_space: Any) -> None:
        self.action_space = space_from_spec(action_space)
        self.boxes = self.action_space.flatten()
        for path, box in self.boxes.items():
            if box.kind != "bool" and not is_bounded(box):
                raise SpaceError(
                    f"{type(self).__name__}: the action space is {box} at '{path_name(path)}'; "
                    "uniform draws need both bounds. Bound it in the environment."
                )

    @api
    @graph_fn
    def draw(self, states: Tensor) -> Tensor:
        n = self.ops.batch_size(next(iter(flatten(states).values())))
        drawn: dict[Path, Tensor] = {path: self._leaf(box, n) for path, box in self.boxes.items()}
        return unflatten(drawn)

    def _leaf(self, box: Box, n: Size) -> Tensor:
        ops = self.ops
        unit = ops.random_uniform((n, *box.shape))  # [0, 1)
        if box.kind == "bool":
            return unit < 0.5
        low, high = (np.asarray(bound, "float32") for bound in (box.low, box.high))
        if box.kind == "float":
            span = ops.constant(high - low, "float32")
            return ops.cast(ops.constant(low, "float32") + span * unit, box.dtype)
        # Rounding up to 1 would be one choice too many.
        counts = ops.constant(high - low + 1.0, "float32")
        steps = ops.minimum(ops.floor(unit * counts), counts - 1.0)
        return ops.cast(ops.constant(low, "float32") + steps, box.dtype)
