"""Plain gradient descent."""

from __future__ import annotations

from typing import Unpack

from rlg.errors import ComponentError
from rlg.graph import Tensor, graph_fn
from rlg.graph.components.optimizers.optimizer import LearningRate, Optimizer, Options
from rlg.graph.limits import Decay


class SGD(Optimizer):
    """Stochastic gradient descent, with Polyak's or Nesterov's momentum by torch's formula.

    Slot, with momentum only: `velocity`.
    """

    def __init__(
        self,
        learning_rate: LearningRate = 1e-3,
        momentum: Decay = 0.0,
        nesterov: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.momentum = momentum
        self.nesterov = nesterov
        if nesterov and not momentum:
            raise ComponentError(
                f"{self.path_or_name}: nesterov looks ahead by the momentum, which is {momentum}. "
                "Give a momentum above 0, such as 0.9."
            )

    def create_slots(self) -> None:
        if self.momentum:
            self._velocity = self.slot("velocity")

    @graph_fn
    def descend(
        self, variables: Tensor, gradients: Tensor, learning_rate: Tensor | None = None
    ) -> None:
        ops = self.ops
        for key, variable in variables.items():
            change = gradients[key]
            if self.momentum:
                change = self.momentum * self._velocity[key] + change
                ops.assign(self._velocity[key], change)
                if self.nesterov:
                    change = gradients[key] + self.momentum * change
            ops.assign_add(variable, -self.rate(learning_rate, change) * change)
