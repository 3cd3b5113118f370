"""Adadelta."""

from __future__ import annotations

from typing import Unpack

from rlg.graph import Tensor, graph_fn
from rlg.graph.components.optimizers.optimizer import LearningRate, Optimizer, Options
from rlg.graph.limits import Decay, PositiveFloat


class Adadelta(Optimizer):
    """Zeiler (2012), by torch's formula.

    Slots: `square` and `delta`, the running means of squared gradients and squared changes.
    """

    def __init__(
        self,
        learning_rate: LearningRate = 1.0,
        rho: Decay = 0.9,
        epsilon: PositiveFloat = 1e-6,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.rho = rho
        self.epsilon = epsilon

    def create_slots(self) -> None:
        self._square = self.slot("square")
        self._delta = self.slot("delta")

    @graph_fn
    def descend(
        self, variables: Tensor, gradients: Tensor, learning_rate: Tensor | None = None
    ) -> None:
        ops, rho, epsilon = self.ops, self.rho, self.epsilon
        for key, variable in variables.items():
            gradient, delta = gradients[key], self._delta[key]
            square = rho * self._square[key] + (1.0 - rho) * ops.square(gradient)
            change = ops.sqrt(delta + epsilon) / ops.sqrt(square + epsilon) * gradient
            ops.assign(self._square[key], square)
            ops.assign(delta, rho * delta + (1.0 - rho) * ops.square(change))
            ops.assign_add(variable, -self.rate(learning_rate, change) * change)
