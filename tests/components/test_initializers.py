"""Initial values: bounds, orthogonality, and specs that name what does not exist."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import SpecError
from rlg.graph.components.algorithms.dqn import DQN
from rlg.graph.components.initializers import (
    SONNET,
    TORCH,
    initializer,
    orthogonal_recipe,
    recommend,
)
from rlg.graph.components.layers.conv2d import Conv2D
from rlg.graph.components.layers.dense import Dense
from rlg.graph.components.layers.recurrent import GRULayer, LSTMLayer
from rlg.graph.components.networks.mlp import MLP
from rlg.graph.components.networks.recurrent import LSTM
from rlg.graph.registry import make
from rlg.graph.spaces import Box, FloatBox, IntBox
from rlg.testing import ComponentTest


def draw(spec, shape, fan_in=None):
    return initializer(spec, fan_in)(np.random.default_rng(0), shape)


@pytest.mark.parametrize(
    ("name", "shape", "limit"),
    [
        ("glorot_uniform", (20, 30), 0.34641016),  # sqrt(6 / 50)
        ("glorot_uniform", (3, 3, 4, 8), 0.23570226),  # sqrt(6 / (9 * 12))
        ("he_uniform", (24, 5), 0.5),  # sqrt(6 / 24)
        ("he_uniform", (2, 2, 6, 5), 0.5),
        ("fan_in_uniform", (25, 30), 0.2),  # 1 / sqrt(25)
        ("fan_in_uniform", (5, 5, 4, 8), 0.1),  # 1 / sqrt(5 * 5 * 4)
    ],
)
def test_uniform_values_fill_their_bounds(name, shape, limit):
    values = draw(name, shape)
    assert values.shape == shape
    assert np.abs(values).max() <= limit
    assert np.abs(values).max() > 0.9 * limit
    assert abs(values.mean()) < 0.15 * limit


@pytest.mark.parametrize("shape", [(8, 3), (3, 8), (4, 4), (2, 2, 3, 5), (1, 2, 2, 9)])
def test_orthogonal_values_are_orthogonal(shape):
    matrix = draw({"type": "orthogonal", "gain": 2.0}, shape).reshape(-1, shape[-1])
    product = matrix.T @ matrix if matrix.shape[0] >= matrix.shape[1] else matrix @ matrix.T
    np.testing.assert_allclose(product, 4.0 * np.eye(len(product)), atol=1e-12)


def test_constants():
    np.testing.assert_array_equal(draw("zeros", (2, 3)), np.zeros((2, 3)))
    np.testing.assert_array_equal(draw({"type": "constant", "value": 0.5}, (2,)), [0.5, 0.5])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("glorot_unifrom", "Did you mean 'glorot_uniform'"),
        ({"gain": 1.0}, "no initializer None.*Known: glorot_uniform"),
        ({"type": "orthogonal", "scale": 2.0}, "no option 'scale'. Options: gain"),
        ({"type": "zeros", "value": 2.0}, "no option 'value'. Options: none"),
    ],
)
def test_unknown_specs_are_refused_with_what_there_is(spec, message):
    with pytest.raises(SpecError, match=message):
        initializer(spec)


def test_fans_need_a_kernel():
    with pytest.raises(SpecError, match=r"the shape is \(3,\). Use zeros or constant"):
        draw("he_uniform", (3,))


def test_layers_of_equal_shape_start_apart_and_seeds_count():
    def kernels(seed):
        test = ComponentTest(MLP([3, 3]), {"inputs": Box((3,))}, seed=seed)
        return test.read("dense-0/kernel"), test.read("dense-1/kernel")

    first, second = kernels(0)
    assert np.abs(first - second).max() > 0.1
    np.testing.assert_array_equal(kernels(0)[0], first)
    assert np.abs(kernels(1)[0] - first).max() > 0.1


def test_orthogonal_columns_point_where_gram_and_schmidt_left_them():
    """By hand from the same draws: without a rule for signs the draw is not uniform."""
    numbers = np.random.default_rng(0).standard_normal((5, 3))
    columns = []
    for column in numbers.T:
        rest = column - sum((column @ known) * known for known in columns)
        columns.append(rest / np.sqrt(rest @ rest))
    np.testing.assert_allclose(draw("orthogonal", (5, 3)), np.stack(columns, 1), atol=1e-12)
    np.testing.assert_allclose(draw("orthogonal", (3, 5)), np.stack(columns), atol=1e-12)


def test_truncated_normal_values_have_their_deviation_and_no_tails():
    values = draw("fan_in_truncated_normal", (100, 300))
    assert np.abs(values).max() <= 0.2  # Two deviations of 1 / sqrt(100).
    assert values.std() == pytest.approx(0.0880, abs=5e-4)  # That of a normal cut at two: 0.88.
    wide = draw("fan_in_truncated_normal", (3, 3, 4, 200))
    assert wide.std() == pytest.approx(0.8796 / 6.0, rel=0.02)


def test_biases_know_the_fan_of_their_kernel():
    values = draw("fan_in_uniform", (500,), fan_in=16)
    assert 0.24 < np.abs(values).max() <= 0.25
    np.testing.assert_array_equal(draw("zeros", (2,), fan_in=16), [0.0, 0.0])


@pytest.mark.parametrize(
    ("layer", "space", "limit"),
    [
        (Dense(200), Box((4,)), 0.5),
        (Conv2D(200, (2, 3)), Box((5, 5, 6)), 1.0 / 6.0),
        (LSTMLayer(16), Box((50,)), 0.25),
        (GRULayer(16), Box((50,)), 0.25),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, float) else str(value),
)
def test_torchs_recipe_starts_layers_like_torchs_own(layer, space, limit):
    """U(-1 / sqrt(fan in), 1 / sqrt(fan in)), of kernels and biases; recurrent layers: units."""
    recommend(TORCH, layer)
    values = ComponentTest(layer, {"inputs": space}).executor.get_weights()
    assert len(values) > 1
    for path, value in values.items():
        assert np.abs(value).max() <= limit, path
        assert np.abs(value).max() > 0.8 * limit, path


def test_layers_alone_have_glorots_kernels_and_no_biases():
    test = ComponentTest(Dense(30), {"inputs": Box((20,))})
    assert 0.31 < np.abs(test.read("kernel")).max() <= 0.34641016
    assert not test.read("bias").any()


def values_of(network, shape=(36, 36, 1), dtype="uint8"):
    test = ComponentTest(make(network), {"inputs": Box(shape, dtype)})
    return {path.partition("/")[2]: v for path, v in test.executor.get_weights().items()}


def test_published_networks_start_as_they_were_published():
    nature = values_of("nature_cnn")
    assert np.abs(nature["conv2d-1/bias"]).max() <= 1.0 / np.sqrt(8 * 8)
    assert np.abs(nature["conv2d-1/bias"]).max() > 0.8 / np.sqrt(8 * 8)
    for name in ("impala_small", "impala_large"):
        found = values_of(name)
        dense = next(value for path, value in found.items() if "dense" in path and value.ndim == 2)
        assert np.abs(dense).max() <= 2.0 / np.sqrt(len(dense))
        assert dense.std() == pytest.approx(0.8796 / np.sqrt(len(dense)), rel=0.02)
        assert not any(value.any() for path, value in found.items() if path.endswith("bias"))


def test_the_algorithms_recipe_comes_before_the_networks_and_after_given_values():
    network = make({"type": "nature_cnn", "bias_init": {"type": "constant", "value": 0.5}})
    recommend(orthogonal_recipe(2.0), network)
    test = ComponentTest(network, {"inputs": Box((36, 36, 1), "uint8")})
    kernel = test.read("dense-5/kernel")
    np.testing.assert_allclose(kernel @ kernel.T, 4.0 * np.eye(len(kernel)), atol=1e-5)
    np.testing.assert_array_equal(test.read("conv2d-1/bias"), np.full(32, 0.5, np.float32))


def test_recipes_tell_recurrent_layers_from_others():
    network = LSTM(MLP([9]), units=16)
    recommend(orthogonal_recipe(1.0), network)
    test = ComponentTest(network, {"inputs": Box((9,))})
    kernel = test.read("network/dense-0/kernel")
    np.testing.assert_allclose(kernel @ kernel.T, np.eye(9), atol=1e-6)
    assert not test.read("network/dense-0/bias").any()
    assert 0.2 < np.abs(test.read("layer/bias")).max() <= 0.25
    recommend(SONNET, network := LSTM(units=16))
    test = ComponentTest(network, {"inputs": Box((9,))})
    assert 0.24 < np.abs(test.read("layer/kernel")).max() <= np.sqrt(6.0 / (25 + 64))
    assert not test.read("layer/bias").any()


def test_dqn_starts_with_torchs_values_equal_on_every_backend(backend):
    """Also its target; Stable-Baselines3's results depend on them."""

    def weights(backend):
        policy = {"type": "q_policy", "network": {"type": "mlp", "units": [50]}}
        spaces = {"states": Box((4,)), "epsilon": FloatBox(ranks="")}
        test = ComponentTest(DQN(policy, IntBox(3)), spaces, backend, apis=["get_actions"])
        return {path: test.read(f"policy/{path}") for path in ("network/dense-0/kernel", *BIASES)}

    found, expected = weights(backend), weights("numpy")
    for path, value in found.items():
        np.testing.assert_array_equal(value, expected[path])
    assert 0.45 < np.abs(found["network/dense-0/bias"]).max() <= 0.5
    assert 0.05 < np.abs(found["head/output/bias"]).max() <= 1.0 / np.sqrt(50)


BIASES = ("network/dense-0/bias", "head/output/bias")
