"""Q-values from one stream for the state and one for the actions."""

from __future__ import annotations

from typing import Any

from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.components.actions import discrete, num_choices
from rlg.graph.components.layers.noisy import dense
from rlg.graph.components.networks.stack import Stack
from rlg.graph.limits import PositiveInt


class DuelingHead(Component):
    """Q = V + A - mean(A): Wang et al., "Dueling Network Architectures" (2016), equation 9.

    inputs: features [B, F], also with time; outputs: [B, A], or [B, D, A] for D sub-actions. With
    `units` each stream has a hidden layer of that size.
    """

    def __init__(
        self,
        action_space: Any,
        units: PositiveInt | None = None,
        activation: str = "relu",
        noisy: bool = False,
    ) -> None:
        self.action_space = discrete("DuelingHead", action_space)
        self.units = units
        self.activation = activation
        self.noisy = noisy
        self.value = self._stream(1)
        self.advantages = self._stream(self.action_space.flat_dim * num_choices(self.action_space))

    def _stream(self, outputs: int) -> Stack:
        hidden = [] if self.units is None else [dense(self.units, self.activation, self.noisy)]
        return Stack([*hidden, dense(outputs, noisy=self.noisy)])

    @api
    def call(self, inputs: Any, noise: Static[bool] = False) -> Any:
        value = self.value.call(inputs, noise=noise)
        return self.aggregate(value, self.advantages.call(inputs, noise=noise))

    @graph_fn(fold_time=True)
    def aggregate(self, value: Tensor, advantages: Tensor) -> Tensor:
        """value: [B, 1], advantages: [B, D * A]."""
        ops, space = self.ops, self.action_space
        if space.shape:
            n = ops.batch_size(advantages)
            value = ops.reshape(value, (n, *(1 for _ in space.shape), 1))
            advantages = ops.reshape(advantages, (n, *space.shape, num_choices(space)))
        return value + advantages - ops.mean(advantages, -1, keepdims=True)
