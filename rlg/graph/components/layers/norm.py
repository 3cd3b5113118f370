"""Normalisation within one item: over its features, or over neighbouring channels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.layers.activation import Activation
from rlg.graph.limits import NonNegativeFloat, PositiveFloat
from rlg.graph.spaces import Box, Space


class LayerNorm(Component):
    """Mean 0 and variance 1 over the last axis, then a learned scale and offset.

    Ba et al., "Layer Normalization" (2016). inputs: float32 [..., F], any ranks; outputs: the same.
    """

    def __init__(self, epsilon: PositiveFloat = 1e-5) -> None:
        self.epsilon = epsilon

    def create_variables(self, *, inputs: Space) -> None:
        features = _floats(self, inputs).shape[-1]
        if self.epsilon <= 0.0:
            raise ComponentError(f"{self.path}: epsilon must be above 0, got {self.epsilon}.")
        self._scale = self.variable("scale", (features,), value=1.0, trainable=True)
        self._offset = self.variable("offset", (features,), trainable=True)

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        ops = self.ops
        centred = inputs - ops.mean(inputs, -1, keepdims=True)
        variance = ops.mean(ops.square(centred), -1, keepdims=True)
        return centred / ops.sqrt(variance + self.epsilon) * self._scale + self._offset


class LocalResponseNorm(Component):
    """Divides each channel by the strength of its neighbours, TensorFlow's formula.

    x / (bias + alpha * s) ** beta, where s sums the squares of the channels that are at most
    `depth_radius` away. Krizhevsky et al. (2012). inputs: float32 [..., C]; outputs: the same.
    """

    def __init__(
        self,
        depth_radius: int = 5,
        bias: float = 1.0,
        alpha: NonNegativeFloat = 1.0,
        beta: NonNegativeFloat = 0.5,
    ) -> None:
        self.depth_radius = depth_radius
        self.bias = bias
        self.alpha = alpha
        self.beta = beta

    def create_variables(self, *, inputs: Space) -> None:
        if self.depth_radius < 0 or self.bias <= 0.0:
            raise ComponentError(
                f"{self.path}: depth_radius is {self.depth_radius} and bias {self.bias}; give a "
                "radius of 0 or more and a bias above 0."
            )
        place = np.arange(_floats(self, inputs).shape[-1])
        near = np.abs(place[:, None] - place) <= self.depth_radius
        self._near = near.astype("float32")  # [C, C]

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        ops = self.ops
        squares = ops.square(inputs)
        if self.depth_radius:
            squares = ops.matmul(squares, ops.constant(self._near, "float32"))
        return inputs / ops.power(self.bias + self.alpha * squares, self.beta)


def activated(make: Callable[..., Component], activation: str, layer_norm: bool) -> list[Component]:
    """A layer and its activation; with `layer_norm` its outputs are normalised in between."""
    if not layer_norm:
        return [make(activation=activation)]
    return [make(), LayerNorm(), Activation(activation)]


def _floats(component: Component, inputs: Space) -> Box:
    if not isinstance(inputs, Box) or inputs.dtype != "float32" or not inputs.shape:
        raise SpaceError(
            f"{component.path}: {type(component).__name__} takes float32 tensors with at least one "
            f"axis of their own, but `inputs` is {inputs}. Put a Flatten or a Scale layer before "
            "it."
        )
    return inputs
