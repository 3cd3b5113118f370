"""Adam with Nesterov's momentum."""

from __future__ import annotations

from typing import Unpack

from rlg.graph import Tensor, graph_fn
from rlg.graph.components.optimizers.optimizer import LearningRate, Optimizer, Options
from rlg.graph.limits import Decay, NonNegativeFloat, PositiveFloat


class Nadam(Optimizer):
    """Dozat (2016), by torch's formula, in which the momentum grows by a schedule.

    Slots: `first` and `second`, the moments of each variable; `step` and `momentum`, the product of
    all momenta so far (both float64: their powers decide the size of early steps).
    """

    def __init__(
        self,
        learning_rate: LearningRate = 2e-3,
        beta1: Decay = 0.9,
        beta2: Decay = 0.999,
        epsilon: PositiveFloat = 1e-8,
        momentum_decay: NonNegativeFloat = 4e-3,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.momentum_decay = momentum_decay

    def create_slots(self) -> None:
        self._first = self.slot("first")
        self._second = self.slot("second")
        self._step = self.variable("step", dtype="float64")
        self._momentum = self.variable("momentum", dtype="float64", value=1.0)

    @graph_fn
    def descend(
        self, variables: Tensor, gradients: Tensor, learning_rate: Tensor | None = None
    ) -> None:
        ops = self.ops
        ops.assign_add(self._step, 1.0)
        now, following = self._momentum_at(0.0), self._momentum_at(1.0)
        product = self._momentum * now
        correction = 1.0 - ops.power(ops.constant(self.beta2, "float64"), self._step * 1.0)
        by_gradient = (1.0 - now) / (1.0 - product)
        by_moment = following / (1.0 - product * following)
        for key, variable in variables.items():
            gradient, dtype = gradients[key], ops.dtype_of(variable)
            first = self.beta1 * self._first[key] + (1.0 - self.beta1) * gradient
            second = self.beta2 * self._second[key] + (1.0 - self.beta2) * ops.square(gradient)
            ops.assign(self._first[key], first)
            ops.assign(self._second[key], second)
            ahead = ops.cast(by_gradient, dtype) * gradient + ops.cast(by_moment, dtype) * first
            change = ahead / (ops.sqrt(second / ops.cast(correction, dtype)) + self.epsilon)
            ops.assign_add(variable, -self.rate(learning_rate, change) * change)
        ops.assign(self._momentum, product)

    def _momentum_at(self, later: float) -> Tensor:
        """beta1 * (1 - 0.5 * 0.96^(t * decay)), some steps later."""
        ops = self.ops
        exponent = (self._step + later) * self.momentum_decay
        return self.beta1 * (1.0 - 0.5 * ops.power(ops.constant(0.96, "float64"), exponent))
