"""Initial values: bounds, orthogonality, and specs that name what does not exist."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import SpecError
from rlg.graph.components.initializers import initializer
from rlg.graph.components.networks.mlp import MLP
from rlg.graph.spaces import Box
from rlg.testing import ComponentTest


def draw(spec, shape):
    return initializer(spec)(np.random.default_rng(0), shape)


@pytest.mark.parametrize(
    ("name", "shape", "limit"),
    [
        ("glorot_uniform", (20, 30), 0.34641016),  # sqrt(6 / 50)
        ("glorot_uniform", (3, 3, 4, 8), 0.23570226),  # sqrt(6 / (9 * 12))
        ("he_uniform", (24, 5), 0.5),  # sqrt(6 / 24)
        ("he_uniform", (2, 2, 6, 5), 0.5),
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
