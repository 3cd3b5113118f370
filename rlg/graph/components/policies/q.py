"""The policy of the DQN family: the action of the largest Q-value."""

from __future__ import annotations

from typing import Any

from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.components.actions import discrete
from rlg.graph.components.networks.stack import accepted
from rlg.graph.registry import make


class QPolicy(Component):
    """A network and a head of Q-values (`q_head`, `dueling_head`).

    states: what the network takes; q_values: [B, A], or [B, D, A] for D sub-actions; actions: int64
    [B], or [B, D].
    """

    def __init__(self, network: Any, action_space: Any, head: Any = "q_head") -> None:
        self.action_space = discrete("QPolicy", action_space)
        self.network = make(network)
        self.head = make(head, action_space=self.action_space)

    @api
    def q_values(
        self, states: Any, update: Static[bool] = False, noise: Static[bool] = False
    ) -> Any:
        """Q-values; with `update` (acting with exploration) running statistics count the states,
        with `noise` (that and learning) noisy layers draw it.
        """
        features = self.features(states, update, noise)
        return self.head.call(features, **accepted(self.head, noise=noise))

    def features(self, states: Any, update: bool, noise: bool) -> Any:
        """What the network makes of states."""
        words = accepted(self.network, update=update, noise=noise)
        return self.network.call(states, **words)

    @api
    def greedy(self, states: Any) -> Any:
        return self.best(self.q_values(states))

    @graph_fn
    def best(self, q_values: Tensor) -> Tensor:
        return self.ops.argmax(q_values, -1)
