"""The variational autoencoder by literal numbers, and what it learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.errors import SpaceError
from rlg.graph import Component, api
from rlg.graph.components.networks.variational import VariationalAutoencoder
from rlg.graph.components.optimizers.adam import Adam
from rlg.graph.spaces import Box
from rlg.testing import ComponentTest

MLP = {"type": "mlp", "units": [16], "activation": "tanh"}
SPACES = {"inputs": Box((3,)), "code": Box((2,))}


class Fitted(Component):
    def __init__(self, kl_weight: float = 0.01) -> None:
        self.model = VariationalAutoencoder(1, MLP, MLP, kl_weight)
        self.optimizer = Adam(0.01)

    @api
    def fit(self, inputs: Any) -> Any:
        loss, _ = self.model.loss(inputs)
        self.optimizer.step(loss, self.model.variables())
        return loss


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
def test_the_loss_is_half_the_squared_error_and_the_divergence(backend):
    test = ComponentTest(VariationalAutoencoder(2, MLP, MLP, kl_weight=0.5), SPACES, backend)
    weights = {path: 0.0 * x for path, x in test.executor.get_weights().items()}
    biases = {"mean/bias": [1.0, -2.0], "log_std/bias": [0.0, np.log(2.0)], "output/bias": 3 * [1]}
    for path in weights:
        for name, value in biases.items():
            if path.endswith(name):
                weights[path] = np.asarray(value, "float32")
    test.executor.set_weights(weights)
    inputs = [[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]
    encoded = test.call("encode", inputs)
    np.testing.assert_allclose(encoded["mean"], [[1.0, -2.0]] * 2)
    np.testing.assert_allclose(test.call("call", inputs), np.ones((2, 3)))
    # Of N(1, 1) and N(-2, 2) from N(0, 1): 0.5 + (4 + 4 - 1) / 2 - log 2.
    divergence = 0.5 + 3.5 - np.log(2.0)
    mean, items = test.call("loss", inputs)
    np.testing.assert_allclose(items, [2.5 + 0.5 * divergence, 0.5 * divergence], rtol=1e-5)
    assert mean == pytest.approx(1.25 + 0.5 * divergence, rel=1e-5)


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_it_learns_to_code_a_line_by_one_number(backend):
    test = ComponentTest(Fitted(), {"inputs": Box((3,))}, backend, seed=2)
    places = np.linspace(-1.0, 1.0, 32)[:, None].astype("float32")
    inputs = places * np.float32([[1.0, -2.0, 0.5]])
    losses = [float(test.call("fit", inputs)) for _ in range(200)]
    assert np.mean(losses[-10:]) < 0.25 * losses[0]


def test_codes_are_drawn_anew_each_time():
    test = ComponentTest(VariationalAutoencoder(2, MLP, MLP), SPACES, "numpy")
    inputs = np.ones((2, 3), "float32")
    assert not np.array_equal(test.call("call", inputs), test.call("call", inputs))


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_what_is_decoded_teaches_how_far_codes_are_spread(backend):
    """Gradients flow through the draw: nothing else would move the deviation here."""
    test = ComponentTest(Fitted(kl_weight=0.0), {"inputs": Box((3,))}, backend, seed=2)
    test.call("fit", np.ones((2, 3), "float32"))
    biases = {path: x for path, x in test.executor.get_weights().items() if path.endswith("bias")}
    (spread,) = (x for path, x in biases.items() if "log_std" in path)
    np.testing.assert_allclose(np.abs(spread), [0.01], rtol=1e-3)  # one step of Adam


def test_images_are_refused():
    flat = {"type": "stack", "layers": [{"type": "flatten"}, {"type": "dense", "units": 2}]}
    with pytest.raises(SpaceError, match="decodes float vectors"):
        ComponentTest(
            VariationalAutoencoder(2, flat, MLP), {**SPACES, "inputs": Box((2, 2))}, "numpy"
        )
