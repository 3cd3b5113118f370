"""Stochastic policies."""

from __future__ import annotations

from typing import Any, ClassVar

from rlg.graph import Component, Static, api
from rlg.graph.components.distributions.joint import Joint
from rlg.graph.components.networks.stack import accepted
from rlg.graph.registry import make
from rlg.graph.spaces import space_from_spec


class Policy(Component):
    """A network, and a head for the parameters of a distribution over actions.

    states: what the network takes, [B, ...], also with time; actions: the action space's; masks:
    see ActionHead; log_probs, entropy and kl: [B], sums over all sub-actions. Running statistics of
    the network count the states of acting with exploration, and no others.
    """

    # Whether actions that are learned from are draws before they are squashed: see ActionHead.
    keeps_draw: ClassVar[bool] = False

    def __init__(self, network: Any, action_space: Any, head: Any = "action_head") -> None:
        self.action_space = space_from_spec(action_space)
        self.network = make(network)
        self.head = make(head, action_space=self.action_space, keeps_draw=self.keeps_draw)
        self.distribution = Joint(self.head.distributions)

    @api
    def get_actions(self, states: Any, explore: Static[bool] = True, masks: Any = None) -> Any:
        """Actions for the environment, inside of its bounds: draws, or else modes."""
        parameters = self.parameters(states, masks, explore)
        draw = self.distribution.sample if explore else self.distribution.mode
        actions = draw(parameters)
        return self.head.clip(actions) if self.head.clips else actions

    @api
    def get_actions_log_probs(self, states: Any, masks: Any = None) -> Any:
        """Draws as they are learned from, before `clip`, and their log-probabilities."""
        return self.distribution.sample_log_prob(self.parameters(states, masks))

    @api
    def log_probs(self, states: Any, actions: Any, masks: Any = None) -> Any:
        return self.distribution.log_prob(self.parameters(states, masks), actions)

    @api
    def entropy(self, states: Any, masks: Any = None) -> Any:
        return self.distribution.entropy(self.parameters(states, masks))

    @api
    def kl(self, states: Any, parameters: Any, masks: Any = None) -> Any:
        """KL(other || this) for the parameters that another policy gave these states."""
        return self.distribution.kl(parameters, self.parameters(states, masks))

    @api
    def parameters(self, states: Any, masks: Any = None, update: Static[bool] = False) -> Any:
        """The parameters of the distribution, nested like the action space."""
        return self.head.parameters(self._features(states, update), masks)

    @api
    def clip(self, actions: Any) -> Any:
        """Actions put inside of the bounds of the environment, where they may lie outside."""
        return self.head.clip(actions)

    def _features(self, states: Any, update: bool = False) -> Any:
        return self.network.call(states, **accepted(self.network, update=update))
