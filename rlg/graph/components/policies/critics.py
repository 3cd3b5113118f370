"""Judges of actions: ensembles of Q-functions."""

from __future__ import annotations

import copy
from typing import Any

from rlg.graph import Component, api
from rlg.graph.components.actions import discrete
from rlg.graph.components.heads.q import QHead
from rlg.graph.components.heads.value import ValueHead
from rlg.graph.components.layers.vectors import Vectors
from rlg.graph.limits import PositiveInt
from rlg.graph.registry import make


class Critics(Component):
    """`n` Q-functions of states and actions; two are the twins of Fujimoto et al. (2018).

    With `joined` networks see states and actions side by side, which asks for states that are
    vectors; else they see states, and a hidden layer of `units` sees their features beside the
    actions. actions: floats [B, *shape]; q: a Tuple of n, each [B].
    """

    def __init__(
        self, network: Any, n: PositiveInt = 2, joined: bool = True, units: PositiveInt = 256
    ) -> None:
        self.network = network
        self.n = n
        self.joined = joined
        self.units = units
        self.vectors = Vectors()
        self.networks = _apart(network, n)
        hidden = None if joined else units
        self.heads = {name: ValueHead(hidden) for name in self.networks}

    @api
    def call(self, states: Any, actions: Any) -> Any:
        """What each critic thinks of these actions."""
        seen = self._seen(states, actions)
        return tuple(self._judged(name, seen, actions) for name in self.networks)

    @api
    def first(self, states: Any, actions: Any) -> Any:
        """What the first critic thinks, [B]: TD3's policy learns from it alone."""
        return self._judged("0", self._seen(states, actions), actions)

    def _seen(self, states: Any, actions: Any) -> Any:
        return self._beside(states, actions) if self.joined else states

    def _judged(self, name: str, seen: Any, actions: Any) -> Any:
        features = self.networks[name].call(seen)
        if not self.joined:
            features = self._beside(features, actions)
        return self.heads[name].call(features)

    def _beside(self, states: Any, actions: Any) -> Any:
        return self.vectors.call({"states": states, "actions": actions})


class DiscreteCritics(Component):
    """`n` Q-functions of states that judge all choices at once; q: a Tuple of n, each [B, A]."""

    def __init__(self, network: Any, action_space: Any, n: PositiveInt = 2) -> None:
        self.action_space = discrete(type(self).__name__, action_space)
        self.network = network
        self.n = n
        self.networks = _apart(network, n)
        self.heads = {name: QHead(self.action_space) for name in self.networks}

    @api
    def call(self, states: Any) -> Any:
        return tuple(self.heads[name].call(x.call(states)) for name, x in self.networks.items())


def _apart(network: Any, n: int) -> dict[str, Any]:
    """Networks by number; those that `Component.copy` makes would start from equal weights."""
    return {str(i): make(copy.deepcopy(network)) for i in range(n)}
