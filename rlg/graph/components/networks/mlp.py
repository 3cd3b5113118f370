"""The multi-layer perceptron."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from rlg.graph import Static, api
from rlg.graph.components.initializers import InitializerSpec
from rlg.graph.components.layers.noisy import dense
from rlg.graph.components.layers.norm import activated
from rlg.graph.components.layers.vectors import Vectors, is_vector
from rlg.graph.components.networks.stack import Stack
from rlg.graph.limits import PositiveInt
from rlg.graph.spaces import space_from_spec


class MLP(Stack):
    """Dense layers of `units` each, all with the same activation.

    inputs: float [B, F], also with time; outputs: [B, units[-1]]. With an `observation_space` of
    anything else, which agents give, a `vectors` layer stands in front: categories become one-hot,
    the leaves of Dicts and Tuples stand side by side. `noisy`: layers explore, see NoisyDense.
    `layer_norm`: outputs are normalised before each activation, see LayerNorm.
    """

    def __init__(
        self,
        units: Sequence[PositiveInt] = (64, 64),
        activation: str = "relu",
        kernel_init: InitializerSpec | None = None,
        bias_init: InitializerSpec | None = None,
        observation_space: Any = None,
        noisy: bool = False,
        layer_norm: bool = False,
    ) -> None:
        space = None if observation_space is None else space_from_spec(observation_space)
        self.units = list(units)
        self.activation = activation
        self.kernel_init = kernel_init
        self.bias_init = bias_init
        self.observation_space = space
        self.noisy = noisy
        self.layer_norm = layer_norm
        self.vectors = None if space is None or is_vector(space) else Vectors()
        words: dict[str, Any] = {"kernel_init": kernel_init, "bias_init": bias_init, "noisy": noisy}
        parts = (activated(partial(dense, n, **words), activation, layer_norm) for n in self.units)
        super().__init__([layer for part in parts for layer in part])

    @api
    def call(self, inputs: Any, update: Static[bool] = False, noise: Static[bool] = False) -> Any:
        vectors = inputs if self.vectors is None else self.vectors.call(inputs)
        return super().call(vectors, update, noise)
