"""The convolutional networks of IMPALA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlg.graph.components.initializers import SONNET, InitializerSpec, recommend
from rlg.graph.components.layers.activation import Activation
from rlg.graph.components.layers.conv2d import Conv2D
from rlg.graph.components.layers.dense import Dense
from rlg.graph.components.layers.flatten import Flatten
from rlg.graph.components.layers.max_pool2d import MaxPool2D
from rlg.graph.components.layers.residual import Residual
from rlg.graph.components.layers.scale import Scale
from rlg.graph.components.networks.stack import Stack
from rlg.graph.limits import PositiveInt


class ImpalaSmall(Stack):
    """The shallow network of Espeholt et al., "IMPALA" (2018), figure 3, left.

    inputs: uint8 frames [B, H, W, C] of at least 20 x 20, also with time; outputs: [B,
    features_dim].
    """

    def __init__(
        self,
        features_dim: PositiveInt = 256,
        kernel_init: InitializerSpec | None = None,
        bias_init: InitializerSpec | None = None,
    ) -> None:
        self.features_dim = features_dim
        self.kernel_init = kernel_init
        self.bias_init = bias_init
        inits: dict[str, Any] = {"kernel_init": kernel_init, "bias_init": bias_init}
        super().__init__(
            [
                Scale(),
                Conv2D(16, 8, 4, activation="relu", **inits),
                Conv2D(32, 4, 2, activation="relu", **inits),
                Flatten(),
                Dense(features_dim, "relu", **inits),
            ]
        )
        recommend(SONNET, self)


class ImpalaLarge(Stack):
    """The deep network of Espeholt et al., "IMPALA" (2018), figure 3, right: 15 convolutions.

    For each of `filters`: a convolution, a pool that halves the image, and two residual blocks.
    inputs: uint8 frames [B, H, W, C], also with time; outputs: [B, features_dim].
    """

    def __init__(
        self,
        features_dim: PositiveInt = 256,
        filters: Sequence[PositiveInt] = (16, 32, 32),
        kernel_init: InitializerSpec | None = None,
        bias_init: InitializerSpec | None = None,
    ) -> None:
        self.features_dim = features_dim
        self.filters = list(filters)
        self.kernel_init = kernel_init
        self.bias_init = bias_init
        inits: dict[str, Any] = {"kernel_init": kernel_init, "bias_init": bias_init}
        layers: list[Any] = [Scale()]
        for n in self.filters:
            layers += [self._convolution(n), MaxPool2D(3, 2, "same"), self._block(n)]
            layers.append(self._block(n))
        last = [Activation("relu"), Flatten(), Dense(features_dim, "relu", **inits)]
        super().__init__([*layers, *last])
        recommend(SONNET, self)

    def _convolution(self, filters: int) -> Conv2D:
        return Conv2D(
            filters, 3, padding="same", kernel_init=self.kernel_init, bias_init=self.bias_init
        )

    def _block(self, filters: int) -> Residual:
        halves = ([Activation("relu"), self._convolution(filters)] for _ in range(2))
        return Residual([layer for half in halves for layer in half])
