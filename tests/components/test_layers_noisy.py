"""Noisy layers: what is drawn, where it goes, and when nothing is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.graph.components.layers.noisy import NoisyDense
from rlg.graph.components.policies.q import QPolicy
from rlg.graph.spaces import Box, IntBox
from rlg.testing import ComponentTest

INPUTS = {"inputs": Box((4,))}
X = np.array([[1.0, 2.0, -1.0, 0.5], [0.0, 1.0, 1.0, -2.0]], "float32")


def f(x):
    return np.sign(x) * np.sqrt(np.abs(x))


def draws(test, path, *sizes):
    """What the layer's stream will draw next."""
    stream = test.executor.builder.binding.streams[path]
    state = stream.state
    found = [stream.normal(size) for size in sizes]
    stream.state = state
    return found


def test_noise_is_factorised_and_shared_by_the_batch(backend):
    test = ComponentTest(NoisyDense(3), INPUTS, backend)
    rows, columns = draws(test, "noisy-dense", (4, 1), (1, 3))
    kernel, bias = test.read("kernel"), test.read("bias")
    kernel = kernel + test.read("kernel_sigma") * f(rows) * f(columns)
    bias = bias + test.read("bias_sigma") * f(columns)[0]
    found = test.call("call", X, noise=True)
    np.testing.assert_allclose(found, X @ kernel + bias, rtol=1e-5, atol=1e-5)
    assert np.abs(test.call("call", X, noise=True) - found).max() > 1e-3


def test_without_noise_it_is_a_dense_layer_that_draws_nothing(backend):
    test = ComponentTest(NoisyDense(3, "relu"), INPUTS, backend)
    before = test.executor.builder.binding.streams["noisy-dense"].state
    expected = np.maximum(X @ test.read("kernel") + test.read("bias"), 0.0)
    np.testing.assert_allclose(test.call("call", X), expected, rtol=1e-5, atol=1e-6)
    assert test.executor.builder.binding.streams["noisy-dense"].state == before


def test_sigmas_start_as_in_the_paper(backend):
    test = ComponentTest(NoisyDense(3), INPUTS, backend)
    np.testing.assert_allclose(test.read("kernel_sigma"), np.full((4, 3), 0.25))
    np.testing.assert_allclose(test.read("bias_sigma"), np.full(3, 0.25))
    weights = test.executor.get_weights()
    assert sorted(path.split("/")[1] for path in weights) == [
        "bias",
        "bias_sigma",
        "kernel",
        "kernel_sigma",
    ]


@pytest.mark.parametrize("head", ["q_head", "dueling_head", "categorical_head", "quantile_head"])
def test_noise_goes_through_networks_and_heads(head):
    network = {"type": "residual", "layers": [{"type": "mlp", "units": [4], "noisy": True}]}
    kind = {"type": head, "noisy": True}
    test = ComponentTest(QPolicy(network, IntBox(2), kind), {"states": Box((4,))}, "numpy")
    streams = test.executor.builder.binding.streams
    states = {path: stream.state for path, stream in streams.items()}

    def drawn():
        return sorted(path for path, stream in streams.items() if stream.state != states[path])

    test.call("q_values", X)
    test.call("greedy", X)
    assert drawn() == []
    test.call("q_values", X, noise=True)
    assert len(drawn()) == 2 + (head == "dueling_head")
