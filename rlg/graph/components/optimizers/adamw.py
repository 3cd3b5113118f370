"""Adam whose weights decay apart from the gradients."""

from __future__ import annotations

from typing import Unpack

from rlg.graph.components.optimizers.adam import Adam
from rlg.graph.components.optimizers.optimizer import LearningRate, Options


class AdamW(Adam):
    """Loshchilov and Hutter (2019), by torch's formula and with its defaults.

    Slots: as Adam's.
    """

    def __init__(
        self,
        learning_rate: LearningRate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 1e-2,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, weight_decay, **options)
