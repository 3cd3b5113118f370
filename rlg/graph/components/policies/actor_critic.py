"""Policies that also judge states."""

from __future__ import annotations

from typing import Any

from rlg.graph import Component, Static, api
from rlg.graph.components.networks.stack import accepted
from rlg.graph.components.policies.policy import Policy
from rlg.graph.registry import make


class ActorCritic(Policy):
    """A policy with a value function: on the same features, or with `separate` on its own network.

    states, actions, masks: see Policy; log_probs, entropy, values: [B]. `value_network` is a spec
    for the separate network, by default the policy's; its initial weights differ. `act` gives
    actions as they are learned from, `clip` makes the environment's of them.
    """

    keeps_draw = True

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
        super().__init__(network, action_space, head)
        self.value_head = make(value_head)
        self.separate = separate or value_network is not None
        self.value_network: Any = None
        if self.separate:
            is_same = spec is network and isinstance(network, Component)
            self.value_network = network.copy("value_network") if is_same else make(spec)

    @api
    def act(self, states: Any, explore: Static[bool] = True, masks: Any = None) -> Any:
        """Actions as they are learned from (before `clip`), their log-probabilities, and values."""
        features = self._features(states, explore)
        parameters = self.head.parameters(features, masks)
        values = self._values(states, features, explore)
        if explore:
            actions, log_probs = self.distribution.sample_log_prob(parameters)
            return actions, log_probs, values
        actions = self.distribution.mode(parameters)
        return actions, self.distribution.log_prob(parameters, actions), values

    @api
    def evaluate(
        self, states: Any, actions: Any, masks: Any = None, entropy: Static[bool] = True
    ) -> Any:
        """Log-probabilities of these actions, entropy (unless it is not wanted), and values."""
        features = self._features(states)
        parameters = self.head.parameters(features, masks)
        log_probs = self.distribution.log_prob(parameters, actions)
        values = self._values(states, features)
        if not entropy:
            return log_probs, values
        return log_probs, self.distribution.entropy(parameters), values

    @api
    def values(self, states: Any) -> Any:
        return self._values(states, None if self.separate else self._features(states))

    def _values(self, states: Any, features: Any, update: bool = False) -> Any:
        if self.separate:
            words = accepted(self.value_network, update=update)
            features = self.value_network.call(states, **words)
        return self.value_head.call(features)


class SharedValuePolicy(ActorCritic):
    """An actor-critic whose value function always works on the policy's features."""

    def __init__(
        self,
        network: Any,
        action_space: Any,
        head: Any = "action_head",
        value_head: Any = "value_head",
    ) -> None:
        super().__init__(network, action_space, head, value_head)
