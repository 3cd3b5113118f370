"""Networks that normalise before each activation."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.graph.components.layers.activation import Activation
from rlg.graph.components.layers.norm import LayerNorm
from rlg.graph.components.networks.auto import AutoNetwork
from rlg.graph.components.networks.mlp import MLP
from rlg.graph.components.networks.nature_cnn import NatureCNN
from rlg.graph.core.component.component import walk
from rlg.graph.spaces import BoolBox, Box, Dict
from rlg.testing import ComponentTest


def normalised(x):
    """Over the last axis."""
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def dense_layers(test):
    """Kernels and biases in order, float64."""
    weights = test.executor.get_weights()
    both = [
        [value.astype("float64") for path, value in weights.items() if path.endswith(name)]
        for name in ("kernel", "bias")
    ]
    return list(zip(*both, strict=True))


def test_an_mlp_normalises_before_each_activation(backend):
    test = ComponentTest(MLP([3, 2], "tanh", layer_norm=True), {"inputs": Box((4,))}, backend)
    layers = dense_layers(test)
    inputs = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")
    expected = inputs.astype("float64")
    for kernel, bias in layers:
        expected = np.tanh(normalised(expected @ kernel + bias))
    np.testing.assert_allclose(test.call("call", inputs), expected, rtol=1e-4, atol=1e-5)


def test_a_convolution_is_normalised_over_its_filters_at_each_place(backend):
    network = NatureCNN(3, convolutions=[[2, 1, 1]], layer_norm=True)
    test = ComponentTest(network, {"inputs": BoolBox(shape=(2, 1, 2))}, backend)
    layers = dense_layers(test)
    grid = np.random.default_rng(0).random((4, 2, 1, 2)) < 0.5
    (filters, first), (kernel, second) = layers
    x = np.maximum(normalised(grid @ filters[0, 0] + first), 0.0).reshape(4, -1)
    expected = np.maximum(normalised(x @ kernel + second), 0.0)
    np.testing.assert_allclose(test.call("call", grid), expected, rtol=1e-4, atol=1e-4)


FRAMES = Box((36, 36, 1), "uint8")


@pytest.mark.parametrize(
    ("space", "count"), [(Box((3,)), 2), (FRAMES, 4), (Dict(a=FRAMES, b=Box((2,))), 6)]
)
def test_the_network_that_fits_normalises_all_of_its_parts(space, count):
    for norm, wanted in ((True, count), (False, 0)):
        network = AutoNetwork(space, [4, 4], features_dim=8, layer_norm=norm)
        assert sum(isinstance(part, LayerNorm) for part in walk(network)) == wanted


def test_without_it_networks_are_what_they_were():
    for network in (MLP([3, 2]), NatureCNN()):
        assert not any(isinstance(part, (LayerNorm, Activation)) for part in walk(network))
