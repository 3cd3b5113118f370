"""Q-values by one linear layer."""

from __future__ import annotations

from typing import Any

from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.components.actions import discrete, num_choices
from rlg.graph.components.layers.noisy import dense
from rlg.graph.components.networks.stack import accepted


class QHead(Component):
    """One Q-value for each choice of each sub-action.

    inputs: features [B, F], also with time; outputs: [B, A], or [B, D, A] for D sub-actions.
    """

    def __init__(self, action_space: Any, noisy: bool = False) -> None:
        self.action_space = discrete("QHead", action_space)
        self.noisy = noisy
        outputs = self.action_space.flat_dim * num_choices(self.action_space)
        self.output = dense(outputs, noisy=noisy)

    @api
    def call(self, inputs: Any, noise: Static[bool] = False) -> Any:
        outputs = self.output.call(inputs, **accepted(self.output, noise=noise))
        return self.arrange(outputs) if self.action_space.shape else outputs

    @graph_fn(fold_time=True)
    def arrange(self, outputs: Tensor) -> Tensor:
        ops, space = self.ops, self.action_space
        return ops.reshape(outputs, (ops.batch_size(outputs), *space.shape, num_choices(space)))
