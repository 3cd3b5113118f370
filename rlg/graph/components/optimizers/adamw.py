"""Adam whose weights decay apart from the gradients."""

from __future__ import annotations

from typing import Unpack

from rlg.graph.components.optimizers.adam import Adam
from rlg.graph.components.optimizers.optimizer import LearningRate, Options
from rlg.graph.limits import Decay, NonNegativeFloat, PositiveFloat


class AdamW(Adam):
    """Loshchilov and Hutter (2019), by torch's formula and with its defaults.

    Slots: as Adam's.
    """

    def __init__(
        self,
        learning_rate: LearningRate = 1e-3,
        beta1: Decay = 0.9,
        beta2: Decay = 0.999,
        epsilon: PositiveFloat = 1e-8,
        weight_decay: NonNegativeFloat = 1e-2,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, weight_decay, **options)
