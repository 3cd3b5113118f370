"""The convolutional network that first played Atari games well."""

from __future__ import annotations

from typing import Any

from rlg.graph.components.initializers import TORCH, InitializerSpec, recommend
from rlg.graph.components.layers.conv2d import Conv2D
from rlg.graph.components.layers.dense import Dense
from rlg.graph.components.layers.flatten import Flatten
from rlg.graph.components.layers.scale import Scale
from rlg.graph.components.networks.stack import Stack
from rlg.graph.limits import PositiveInt


class NatureCNN(Stack):
    """The network of Mnih et al., "Human-level control through deep reinforcement learning" (2015).

    inputs: uint8 frames [B, H, W, C] of at least 36 x 36, also with time; outputs: [B,
    features_dim].
    """

    def __init__(
        self,
        features_dim: PositiveInt = 512,
        kernel_init: InitializerSpec | None = None,
        bias_init: InitializerSpec | None = None,
    ) -> None:
        self.features_dim = features_dim
        self.kernel_init = kernel_init
        self.bias_init = bias_init
        inits: dict[str, Any] = {"kernel_init": kernel_init, "bias_init": bias_init}
        sizes = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
        super().__init__(
            [
                Scale(),
                *(
                    Conv2D(filters, size, stride, activation="relu", **inits)
                    for filters, size, stride in sizes
                ),
                Flatten(),
                Dense(features_dim, "relu", **inits),
            ]
        )
        recommend(TORCH, self)
