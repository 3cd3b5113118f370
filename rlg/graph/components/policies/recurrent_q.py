"""The policy of the DQN family with a memory of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Static, api
from rlg.graph.components.actions import discrete
from rlg.graph.components.networks.stack import accepted
from rlg.graph.components.policies.masked import MaskedQ
from rlg.graph.registry import make
from rlg.graph.spaces import Space


class RecurrentQPolicy(MaskedQ):
    """Q-values on the features of a recurrent network (`lstm`, `gru`): Hausknecht and Stone (2015).

    `act` takes one step: states with ranks B; `q_values` takes sequences: ranks BT or TB. hidden:
    what the network remembers before the first step, of `hidden_space`, [B, ...] (None: nothing);
    resets: bool for each step, True where an episode begins: there it remembers nothing. q_values:
    [..., A], or [..., D, A] for D sub-actions. sees: see MaskedQ.
    """

    def __init__(
        self,
        network: Any,
        action_space: Any,
        head: Any = "q_head",
        sees: Sequence[str] | None = None,
    ) -> None:
        self.action_space = discrete("RecurrentQPolicy", action_space)
        self._see_by(sees)
        self.network = make(network)
        if not hasattr(self.network, "unroll"):
            raise ComponentError(
                f"RecurrentQPolicy: {type(self.network).__name__} is not recurrent. Give a "
                "recurrent network, {type: lstm, network: ...}, or use q_policy."
            )
        self.head = make(head, action_space=self.action_space)

    @property
    def hidden_space(self) -> Space:
        """What `hidden` is; it starts from zeros."""
        space: Space = self.network.state_space
        return space

    @api
    def act(
        self,
        states: Any,
        hidden: Any,
        resets: Any,
        update: Static[bool] = False,
        noise: Static[bool] = False,
    ) -> Any:
        """Q-values of one step, and what to remember; `update`, `noise` as QPolicy takes them."""
        words = accepted(self.network, "unroll", update=update, noise=noise)
        features, hidden = self.network.unroll(self._seen(states), hidden, resets, **words)
        return self._judged(features, states, noise, True), hidden

    @api
    def remember(self, states: Any, resets: Any, hidden: Any = None) -> Any:
        """What is remembered after a sequence."""
        _, hidden = self.network.unroll(self._seen(states), hidden, resets)
        return hidden

    @api
    def q_values(
        self, states: Any, resets: Any, hidden: Any = None, noise: Static[bool] = False
    ) -> Any:
        words = accepted(self.network, "unroll", noise=noise)
        features, _ = self.network.unroll(self._seen(states), hidden, resets, **words)
        return self._judged(features, states, noise, True)
