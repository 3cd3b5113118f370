"""Actor-critics that remember."""

from __future__ import annotations

from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Component, Static, api
from rlg.graph.components.distributions.joint import Joint
from rlg.graph.registry import make
from rlg.graph.spaces import Space, space_from_spec


class RecurrentActorCritic(Component):
    """A policy and a value function on the features of one recurrent network (`lstm`, `gru`).

    `act` takes one step: states with ranks B; `evaluate` and `values` take sequences: ranks BT or
    TB. hidden: what the network remembers before the first step, of `hidden_space`, [B, ...];
    resets: bool for each step, True where an episode begins: there it remembers nothing. actions
    and masks: see Policy; log_probs, entropy, values: one for each step.
    """

    def __init__(
        self,
        network: Any,
        action_space: Any,
        head: Any = "action_head",
        value_head: Any = "value_head",
    ) -> None:
        self.action_space = space_from_spec(action_space)
        self.network = make(network)
        if not hasattr(self.network, "unroll"):
            raise ComponentError(
                f"RecurrentActorCritic: {type(self.network).__name__} remembers nothing. Give a "
                "recurrent network, {type: lstm, network: ...}, or use actor_critic."
            )
        self.head = make(head, action_space=self.action_space)
        self.value_head = make(value_head)
        self.distribution = Joint(self.head.distributions)

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
        explore: Static[bool] = True,
        masks: Any = None,
    ) -> Any:
        """Actions (before `clip`), their log-probabilities, values, and what to remember."""
        features, hidden = self.network.unroll(states, hidden, resets)
        parameters, values = self._outputs(features, masks)
        if explore:
            actions, log_probs = self.distribution.sample_log_prob(parameters)
        else:
            actions = self.distribution.mode(parameters)
            log_probs = self.distribution.log_prob(parameters, actions)
        return actions, log_probs, values, hidden

    @api
    def evaluate(
        self, states: Any, actions: Any, hidden: Any, resets: Any, masks: Any = None
    ) -> Any:
        """Log-probabilities of these actions, entropy, and values."""
        features, _ = self.network.unroll(states, hidden, resets)
        parameters, values = self._outputs(features, masks)
        log_probs = self.distribution.log_prob(parameters, actions)
        return log_probs, self.distribution.entropy(parameters), values

    @api
    def values(self, states: Any, hidden: Any, resets: Any) -> Any:
        features, _ = self.network.unroll(states, hidden, resets)
        return self.value_head.call(features)

    @api
    def clip(self, actions: Any) -> Any:
        """Actions put inside of the bounds of the environment, where they may lie outside."""
        return self.head.clip(actions)

    def _outputs(self, features: Any, masks: Any) -> tuple[Any, Any]:
        return self.head.parameters(features, masks), self.value_head.call(features)
