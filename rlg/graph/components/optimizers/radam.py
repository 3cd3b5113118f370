"""Adam that does not trust its second moments too early."""

from __future__ import annotations

from typing import Unpack

from rlg.graph import Tensor, graph_fn
from rlg.graph.components.optimizers.optimizer import LearningRate, Optimizer, Options
from rlg.graph.limits import Decay, PositiveFloat


class RAdam(Optimizer):
    """Rectified Adam: Liu et al. (2020), by torch's formula.

    The first steps are momentum alone, later ones Adam's times a factor that grows to 1.
    Slots: `first` and `second`, the moments of each variable, and `step` (float64: its powers
    decide the size of early steps).
    """

    def __init__(
        self,
        learning_rate: LearningRate = 1e-3,
        beta1: Decay = 0.9,
        beta2: Decay = 0.999,
        epsilon: PositiveFloat = 1e-8,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_slots(self) -> None:
        self._first = self.slot("first")
        self._second = self.slot("second")
        self._step = self.variable("step", dtype="float64")

    @graph_fn
    def descend(
        self, variables: Tensor, gradients: Tensor, learning_rate: Tensor | None = None
    ) -> None:
        ops = self.ops
        ops.assign_add(self._step, 1.0)
        by_first = 1.0 - self._power(self.beta1)
        is_adaptive, factor = self._rectification()
        for key, variable in variables.items():
            gradient, dtype = gradients[key], ops.dtype_of(variable)
            first = self.beta1 * self._first[key] + (1.0 - self.beta1) * gradient
            second = self.beta2 * self._second[key] + (1.0 - self.beta2) * ops.square(gradient)
            ops.assign(self._first[key], first)
            ops.assign(self._second[key], second)
            change = first / ops.cast(by_first, dtype)
            adaptive = ops.cast(factor, dtype) * change / (ops.sqrt(second) + self.epsilon)
            change = ops.where(is_adaptive, adaptive, change)
            ops.assign_add(variable, -self.rate(learning_rate, change) * change)

    def _power(self, base: float) -> Tensor:
        """base^step"""
        return self.ops.power(self.ops.constant(base, "float64"), self._step * 1.0)

    def _rectification(self) -> tuple[Tensor, Tensor]:
        """Whether second moments are known well enough, and what multiplies their part."""
        ops, most = self.ops, 2.0 / (1.0 - self.beta2) - 1.0
        power = self._power(self.beta2)
        length = most - 2.0 * self._step * power / (1.0 - power)  # rho_t, of the paper's average
        variance = (length - 4.0) * (length - 2.0) * most / ((most - 4.0) * (most - 2.0) * length)
        correction = 1.0 - power
        return length > 5.0, ops.sqrt(ops.maximum(variance, 0.0 * variance) * correction)
