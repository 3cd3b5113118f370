"""Judges of actions: an ensemble of Q-functions."""

from __future__ import annotations

import copy
from typing import Any

from rlg.graph import Component, api
from rlg.graph.components.heads.q import QHead
from rlg.graph.components.heads.value import ValueHead
from rlg.graph.components.layers.vectors import Vectors
from rlg.graph.limits import PositiveInt
from rlg.graph.registry import make
from rlg.graph.spaces import Box, space_from_spec


class Critics(Component):
    """`n` Q-functions with weights of their own; two are the twins of Fujimoto et al. (2018).

    Of continuous actions each is Q(s, a), one number [B]: with `joined` the network sees states
    and actions side by side, which asks for states that are vectors; else it sees states, and a
    hidden layer of `units` sees its features beside the actions. Of discrete ones each is Q(s, .),
    [B, A], of states alone. q: a Tuple of n. actions: floats [B, *shape].
    """

    def __init__(
        self,
        network: Any,
        action_space: Any,
        n: PositiveInt = 2,
        joined: bool = True,
        units: PositiveInt = 256,
    ) -> None:
        self.action_space = space_from_spec(action_space)
        self.n = n
        self.is_discrete = isinstance(self.action_space, Box) and self.action_space.kind == "int"
        self.joined = joined and not self.is_discrete
        self.units = units
        # Copies by `copy` would start from equal weights.
        self.networks = {str(i): make(copy.deepcopy(network)) for i in range(n)}
        self.heads = {name: self._head() for name in self.networks}
        self.vectors = None if self.is_discrete else Vectors()

    def _head(self) -> Component:
        if self.is_discrete:
            return QHead(self.action_space)
        return ValueHead() if self.joined else ValueHead(self.units)

    @api
    def call(self, states: Any, actions: Any = None) -> Any:
        """What each critic thinks of these actions, or of all of them."""
        seen = self._beside(states, actions) if self.joined else states
        return tuple(self._judged(name, seen, actions) for name in self.networks)

    @api
    def first(self, states: Any, actions: Any) -> Any:
        """What the first critic thinks, [B]: TD3's policy learns from it alone."""
        seen = self._beside(states, actions) if self.joined else states
        return self._judged("0", seen, actions)

    def _judged(self, name: str, seen: Any, actions: Any) -> Any:
        features = self.networks[name].call(seen)
        late = not self.joined and not self.is_discrete
        return self.heads[name].call(self._beside(features, actions) if late else features)

    def _beside(self, states: Any, actions: Any) -> Any:
        assert self.vectors is not None
        return self.vectors.call({"states": states, "actions": actions})
