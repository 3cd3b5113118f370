"""Policies without chance."""

from __future__ import annotations

import math
from typing import Any

from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.components.layers.dense import Dense
from rlg.graph.components.networks.stack import accepted
from rlg.graph.limits import PositiveInt
from rlg.graph.registry import make


class DeterministicPolicy(Component):
    """One action for each state, by a network and a layer: Silver et al. (2014).

    states: what the network takes; actions: floats [B, *shape] from -1 to 1, by tanh.
    """

    def __init__(self, network: Any, shape: tuple[PositiveInt, ...] = (1,)) -> None:
        self.shape = tuple(shape)
        self.network = make(network)
        self.output = Dense(math.prod(self.shape), "tanh")

    @api
    def call(self, states: Any, update: Static[bool] = False) -> Any:
        """Actions; with `update` (acting with exploration) running statistics count the states."""
        features = self.network.call(states, **accepted(self.network, update=update))
        return self.arrange(self.output.call(features))

    @graph_fn
    def arrange(self, outputs: Tensor) -> Tensor:
        return self.ops.reshape(outputs, (self.ops.batch_size(outputs), *self.shape))
