"""The policy of the DQN family: the action of the largest Q-value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlg.graph import Static, Tensor, api, graph_fn
from rlg.graph.components.actions import discrete
from rlg.graph.components.networks.stack import accepted
from rlg.graph.components.policies.masked import MaskedQ
from rlg.graph.registry import make


class QPolicy(MaskedQ):
    """A network and a head of Q-values (`q_head`, `dueling_head`).

    states: what the network takes, or with `sees` a Dict that has an `action_mask` beside it, see
    MaskedQ; q_values: [B, A], or [B, D, A] for D sub-actions; actions: int64 [B], or [B, D].
    """

    def __init__(
        self,
        network: Any,
        action_space: Any,
        head: Any = "q_head",
        sees: Sequence[str] | None = None,
    ) -> None:
        self.action_space = discrete("QPolicy", action_space)
        self._see_by(sees)
        self.network = make(network)
        self.head = make(head, action_space=self.action_space)

    @api
    def q_values(
        self,
        states: Any,
        update: Static[bool] = False,
        noise: Static[bool] = False,
        masked: Static[bool] = True,
    ) -> Any:
        """Q-values; with `update` (acting with exploration) running statistics count the states,
        with `noise` (that and learning) noisy layers draw it. Without `masked` those of forbidden
        actions are as the network has them.
        """
        return self._judged(self.features(states, update, noise), states, noise, masked)

    def features(self, states: Any, update: bool, noise: bool) -> Any:
        """What the network makes of states."""
        words = accepted(self.network, update=update, noise=noise)
        return self.network.call(self._seen(states), **words)

    @api
    def greedy(self, states: Any) -> Any:
        return self.best(self.q_values(states))

    @graph_fn
    def best(self, q_values: Tensor) -> Tensor:
        return self.ops.argmax(q_values, -1)
