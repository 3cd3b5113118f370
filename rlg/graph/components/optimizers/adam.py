"""Adam and AdamW."""

from __future__ import annotations

from typing import Unpack

from rlg.graph import Tensor, graph_fn
from rlg.graph.components.optimizers.optimizer import LearningRate, Optimizer, Options
from rlg.graph.limits import Decay, NonNegativeFloat, PositiveFloat


class Adam(Optimizer):
    """Kingma and Ba (2015), by torch's formula.

    With `weight_decay` it is AdamW: Loshchilov and Hutter (2019).
    Slots: `first` and `second`, the moments of each variable, and `step`.
    """

    def __init__(
        self,
        learning_rate: LearningRate = 1e-3,
        beta1: Decay = 0.9,
        beta2: Decay = 0.999,
        epsilon: PositiveFloat = 1e-8,
        weight_decay: NonNegativeFloat = 0.0,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.weight_decay = weight_decay

    def create_slots(self) -> None:
        self._first = self.slot("first")
        self._second = self.slot("second")
        self._step = self.variable("step")

    @graph_fn
    def descend(
        self, variables: Tensor, gradients: Tensor, learning_rate: Tensor | None = None
    ) -> None:
        keys = list(variables)
        self.ops.adam(
            [variables[key] for key in keys],
            [gradients[key] for key in keys],
            [self._first[key] for key in keys],
            [self._second[key] for key in keys],
            self._step,
            learning_rate=self.constant_rate() if learning_rate is None else learning_rate,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            weight_decay=self.weight_decay,
        )
