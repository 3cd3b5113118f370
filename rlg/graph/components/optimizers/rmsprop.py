"""RMSProp, in both of its spellings."""

from __future__ import annotations

from typing import Unpack

from rlg.graph import Tensor, graph_fn
from rlg.graph.components.optimizers.optimizer import LearningRate, Optimizer, Options
from rlg.graph.limits import Decay, PositiveFloat


class RMSProp(Optimizer):
    """Tieleman and Hinton (2012), by torch's formula.

    `centered` is Graves (2013), as Mnih et al. (2015) use it. Epsilon is added to the root, as
    torch does; with `epsilon_inside_root` before the root is taken, as TensorFlow does: results
    differ where gradients are small. Slots: `square`, `mean` if centered, `velocity` with momentum.
    """

    def __init__(
        self,
        learning_rate: LearningRate = 1e-2,
        alpha: Decay = 0.99,
        epsilon: PositiveFloat = 1e-8,
        momentum: Decay = 0.0,
        centered: bool = False,
        epsilon_inside_root: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.alpha = alpha
        self.epsilon = epsilon
        self.momentum = momentum
        self.centered = centered
        self.epsilon_inside_root = epsilon_inside_root

    def create_slots(self) -> None:
        self._square = self.slot("square")
        if self.centered:
            self._mean = self.slot("mean")
        if self.momentum:
            self._velocity = self.slot("velocity")

    @graph_fn
    def descend(
        self, variables: Tensor, gradients: Tensor, learning_rate: Tensor | None = None
    ) -> None:
        ops = self.ops
        for key, variable in variables.items():
            change = gradients[key] / self._root(key, gradients[key])
            if self.momentum:
                change = self.momentum * self._velocity[key] + change
                ops.assign(self._velocity[key], change)
            ops.assign_add(variable, -self.rate(learning_rate, change) * change)

    def _root(self, key: str, gradient: Tensor) -> Tensor:
        """The running root mean square, with this gradient in it."""
        ops = self.ops
        square = self.alpha * self._square[key] + (1.0 - self.alpha) * ops.square(gradient)
        ops.assign(self._square[key], square)
        if self.centered:
            mean = self.alpha * self._mean[key] + (1.0 - self.alpha) * gradient
            ops.assign(self._mean[key], mean)
            square = square - ops.square(mean)
        if self.epsilon_inside_root:
            return ops.sqrt(square + self.epsilon)
        return ops.sqrt(square) + self.epsilon
