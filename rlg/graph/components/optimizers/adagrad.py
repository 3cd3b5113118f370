"""Adagrad."""

from __future__ import annotations

from typing import Unpack

from rlg.graph import Tensor, graph_fn
from rlg.graph.components.optimizers.optimizer import LearningRate, Optimizer, Options
from rlg.graph.limits import NonNegativeFloat, PositiveFloat


class Adagrad(Optimizer):
    """Duchi, Hazan and Singer (2011), by torch's formula.

    Slot: `square`, the sum of squared gradients, from `initial_accumulator_value`.
    """

    def __init__(
        self,
        learning_rate: LearningRate = 1e-2,
        epsilon: PositiveFloat = 1e-10,
        initial_accumulator_value: NonNegativeFloat = 0.0,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.epsilon = epsilon
        self.initial_accumulator_value = initial_accumulator_value

    def create_slots(self) -> None:
        self._square = self.slot("square", self.initial_accumulator_value)

    @graph_fn
    def descend(
        self, variables: Tensor, gradients: Tensor, learning_rate: Tensor | None = None
    ) -> None:
        ops = self.ops
        for key, variable in variables.items():
            gradient = gradients[key]
            square = self._square[key] + ops.square(gradient)
            ops.assign(self._square[key], square)
            change = gradient / (ops.sqrt(square) + self.epsilon)
            ops.assign_add(variable, -self.rate(learning_rate, change) * change)
