"""Between actions that are learned from and those of the environment."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlg.errors import SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.heads.leaves import is_bounded
from rlg.graph.spaces import Box, FloatBox, Space, space_from_spec


class UnitActions(Component):
    """Scales actions between [-1, 1] and the bounds of the environment, element by element.

    Policies, critics and memories of continuous actions see units alone: else the target entropy,
    noise and what critics weigh would depend on how large a torque or a speed is written down.
    actions: floats [B, *shape].
    """

    def __init__(self, action_space: Any) -> None:
        self.action_space = bounded_floats(type(self).__name__, space_from_spec(action_space))

    @property
    def unit_space(self) -> Box:
        """The space of what is learned from."""
        return FloatBox(-1.0, 1.0, self.action_space.shape)

    @api
    @graph_fn
    def scale(self, actions: Tensor) -> Tensor:
        """From [-1, 1] to the environment's bounds; rounding never leaves them."""
        ops = self.ops
        low, high = self._bounds()
        scaled = low + 0.5 * (actions + 1.0) * (high - low)
        return ops.cast(ops.minimum(ops.maximum(scaled, low), high), self.action_space.dtype)

    @api
    @graph_fn
    def unscale(self, actions: Tensor) -> Tensor:
        """From the environment's bounds to [-1, 1]."""
        low, high = self._bounds()
        return to_unit(self.ops.cast(actions, "float32"), low, high)

    def _bounds(self) -> tuple[Tensor, Tensor]:
        low, high = (
            self.ops.constant(np.asarray(bound, "float32"), "float32")
            for bound in (self.action_space.low, self.action_space.high)
        )
        return low, high


def to_unit(actions: Any, low: Any, high: Any) -> Any:
    """From [low, high] to [-1, 1]; of tensors, or of NumPy's arrays."""
    return 2.0 * (actions - low) / (high - low) - 1.0


def is_continuous(space: Space) -> bool:
    """Whether actions are floats that all have a lower bound below an upper one."""
    if not isinstance(space, Box) or space.kind != "float" or not is_bounded(space):
        return False
    return bool((np.asarray(space.low) < np.asarray(space.high)).all())


def bounded_floats(owner: str, space: Space) -> Box:
    """Reads a space of floats between bounds, or refuses it."""
    if isinstance(space, Box) and is_continuous(space):
        return space
    raise SpaceError(
        f"{owner}: action_space is {space}; it must be one Box of floats with finite bounds, low "
        "below high, as in FloatBox(-2.0, 2.0, (1,))."
    )
