"""Recurrent actor-critics."""

from __future__ import annotations

from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Component, Static, api
from rlg.graph.components.distributions.joint import Joint
from rlg.graph.components.networks.stack import accepted
from rlg.graph.registry import make
from rlg.graph.spaces import Dict, Space, space_from_spec


class RecurrentActorCritic(Component):
    """A policy and a value function on the features of a recurrent network (`lstm`, `gru`).

    With `separate` the value function has a network of its own: by default a second one of the same
    kind, or `value_network`, which may do without a memory. If both remember, hidden is a Dict of
    `policy` and `value`.

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
        separate: bool = False,
        value_network: Any = None,
    ) -> None:
        spec = network if value_network is None else value_network
        self.action_space = space_from_spec(action_space)
        self.network = make(network)
        if not hasattr(self.network, "unroll"):
            raise ComponentError(
                f"RecurrentActorCritic: {type(self.network).__name__} is not recurrent. Give a "
                "recurrent network, {type: lstm, network: ...}, or use actor_critic."
            )
        self.head = make(head, action_space=self.action_space, keeps_draw=True)
        self.value_head = make(value_head)
        self.separate = separate or value_network is not None
        self.value_network: Any = None
        if self.separate:
            is_same = spec is network and isinstance(network, Component)
            self.value_network = network.copy("value_network") if is_same else make(spec)
        self.distribution = Joint(self.head.distributions)

    @property
    def hidden_space(self) -> Space:
        """What `hidden` is; it starts from zeros."""
        space: Space = self.network.state_space
        if self._remembers_twice:
            return Dict(policy=space, value=self.value_network.state_space)
        return space

    @property
    def _remembers_twice(self) -> bool:
        return hasattr(self.value_network, "unroll")

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
        parameters, values, hidden = self._outputs(states, hidden, resets, masks, explore)
        if explore:
            actions, log_probs = self.distribution.sample_log_prob(parameters)
        else:
            actions = self.distribution.mode(parameters)
            log_probs = self.distribution.log_prob(parameters, actions)
        return actions, log_probs, values, hidden

    @api
    def evaluate(
        self,
        states: Any,
        actions: Any,
        hidden: Any,
        resets: Any,
        masks: Any = None,
        entropy: Static[bool] = True,
    ) -> Any:
        """Log-probabilities of these actions, entropy (unless it is not wanted), and values."""
        parameters, values, _ = self._outputs(states, hidden, resets, masks)
        log_probs = self.distribution.log_prob(parameters, actions)
        if not entropy:
            return log_probs, values
        return log_probs, self.distribution.entropy(parameters), values

    @api
    def values(self, states: Any, hidden: Any, resets: Any) -> Any:
        if not self.separate:
            features, _ = self.network.unroll(states, hidden, resets)
        elif self._remembers_twice:
            features, _ = self.value_network.unroll(states, hidden["value"], resets)
        else:
            features = self.value_network.call(states)
        return self.value_head.call(features)

    @api
    def clip(self, actions: Any) -> Any:
        """Actions put inside of the bounds of the environment, where they may lie outside."""
        return self.head.clip(actions)

    def _outputs(
        self, states: Any, hidden: Any, resets: Any, masks: Any, update: bool = False
    ) -> tuple[Any, Any, Any]:
        """Parameters, values, and what to remember."""
        before = hidden["policy"] if self._remembers_twice else hidden
        words = accepted(self.network, "unroll", update=update)
        features, after = self.network.unroll(states, before, resets, **words)
        parameters = self.head.parameters(features, masks)
        if self._remembers_twice:
            words = accepted(self.value_network, "unroll", update=update)
            others, later = self.value_network.unroll(states, hidden["value"], resets, **words)
            return parameters, self.value_head.call(others), {"policy": after, "value": later}
        if self.separate:
            words = accepted(self.value_network, update=update)
            features = self.value_network.call(states, **words)
        return parameters, self.value_head.call(features), after
