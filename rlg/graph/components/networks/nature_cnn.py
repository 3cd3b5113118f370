"""The convolutional network that first played Atari games well."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from rlg.errors import ComponentError
from rlg.graph.components.initializers import TORCH, InitializerSpec, recommend
from rlg.graph.components.layers.conv2d import Conv2D
from rlg.graph.components.layers.dense import Dense
from rlg.graph.components.layers.flatten import Flatten
from rlg.graph.components.layers.norm import activated
from rlg.graph.components.layers.scale import Scale
from rlg.graph.components.networks.stack import Stack
from rlg.graph.limits import PositiveInt


class NatureCNN(Stack):
    """The network of Mnih et al., "Human-level control through deep reinforcement learning" (2015).

    inputs: uint8 frames [B, H, W, C] of at least 36 x 36, also with time; outputs: [B,
    features_dim]. `convolutions`: filters, size and stride of each; [[16, 8, 4], [32, 4, 2]] and
    256 features are the network of Mnih et al. (2013), which costs a quarter. Bool grids of
    any size that the kernels fit into are taken as well: [[16, 3, 1]] and 128 features are the
    network of MinAtar (Young and Tian, 2019).

    The convolutions see (frame - offset) / divisor. Where most of a frame is of one brightness,
    an offset of about that and a smaller divisor let them see what differs, and not mostly the
    background: features of what moves are learned in a fraction of the updates.

    With `layer_norm` outputs are normalised before each activation, those of a convolution over the
    filters at each place: see LayerNorm.
    """

    def __init__(
        self,
        features_dim: PositiveInt = 512,
        kernel_init: InitializerSpec | None = None,
        bias_init: InitializerSpec | None = None,
        convolutions: Sequence[Sequence[int]] = ((32, 8, 4), (64, 4, 2), (64, 3, 1)),
        offset: float = 0.0,
        divisor: float = 255.0,
        layer_norm: bool = False,
    ) -> None:
        self.features_dim = features_dim
        self.offset = offset
        self.divisor = divisor
        self.layer_norm = layer_norm
        self.kernel_init = kernel_init
        self.bias_init = bias_init
        inits: dict[str, Any] = {"kernel_init": kernel_init, "bias_init": bias_init}
        self.convolutions = [list(sizes) for sizes in convolutions]
        if not convolutions or any(len(sizes) != 3 or min(sizes) < 1 for sizes in convolutions):
            raise ComponentError(
                f"nature_cnn: convolutions is {self.convolutions}; give filters, size, stride of "
                "each: [[32, 8, 4], [64, 4, 2], [64, 3, 1]]."
            )
        super().__init__(
            [
                Scale(divisor, offset),
                *(
                    layer
                    for n, size, stride in self.convolutions
                    for layer in activated(
                        partial(Conv2D, n, size, stride, **inits), "relu", layer_norm
                    )
                ),
                Flatten(),
                *activated(partial(Dense, features_dim, **inits), "relu", layer_norm),
            ]
        )
        recommend(TORCH, self)
