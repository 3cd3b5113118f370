"""Values of a Box: how they are spread, and why some don't fit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple

N = 20_000


def sample(box: Box) -> np.ndarray:
    return box.with_ranks("B").sample(7, batch=N)


def test_floats_between_two_bounds_are_uniform():
    values = sample(FloatBox(-1.0, 3.0))
    assert values.dtype == "float32"
    np.testing.assert_allclose([values.mean(), values.var()], [1.0, 16 / 12], rtol=0.03)


def test_floats_beside_one_bound_are_exponential():
    for values in (sample(FloatBox(low=2.0)) - 2.0, 2.0 - sample(FloatBox(high=2.0))):
        assert values.min() >= 0.0
        np.testing.assert_allclose([values.mean(), values.var()], [1.0, 1.0], rtol=0.05)


def test_floats_without_bounds_are_standard_normal():
    values = sample(FloatBox())
    np.testing.assert_allclose([values.mean(), values.var()], [0.0, 1.0], atol=0.03)


def test_each_element_keeps_to_its_own_bounds():
    low, high = [0.0, 5.0, -math.inf, -math.inf], [1.0, math.inf, -5.0, math.inf]
    values = sample(FloatBox(low, high, (4,)))
    np.testing.assert_allclose(values.mean(0), [0.5, 6.0, -6.0, 0.0], atol=0.03)
    assert (values >= low).all()
    assert (values <= high).all()


def test_the_widest_bounds_give_finite_values():
    for dtype in ("float16", "float32", "float64"):
        largest = np.finfo(dtype).max
        for low, high in ((-largest, largest), (largest, None), (None, -largest)):
            assert np.isfinite(sample(FloatBox(low, high, dtype=dtype))).all()


def test_integers_are_uniform_over_all_choices():
    values, counts = np.unique(sample(IntBox(-1, 3)), return_counts=True)
    assert values.tolist() == [-1, 0, 1, 2]
    np.testing.assert_allclose(counts / N, 0.25, atol=0.02)
    assert set(sample(Box((), "uint8")).tolist()) == set(range(256))
    assert sample(IntBox([1, 4], shape=(2,))).max(0).tolist() == [0, 3]


def test_booleans_are_fair():
    values = sample(BoolBox())
    assert values.dtype == "bool"
    assert abs(values.mean() - 0.5) < 0.02


def test_a_folded_axis_has_a_row_for_each_step_of_each_batch_row():
    assert FloatBox(shape=(2,), ranks="F").sample(0, batch=3, time=4).shape == (12, 2)
    assert FloatBox(ranks="TB").zeros(batch=3, time=4).shape == (4, 3)


def test_a_generator_goes_on_and_a_seed_starts_again():
    rng = np.random.default_rng(0)
    first, second = FloatBox().sample(rng), FloatBox().sample(rng)
    assert first != second
    assert FloatBox().sample(0) == first


def test_python_numbers_and_lists_are_values():
    assert IntBox(3, ranks="").contains(2)
    assert FloatBox(ranks="").contains(0.5)
    assert BoolBox(ranks="").contains(True)
    assert FloatBox(shape=(2,)).contains([[1.0, 2.0], [3.0, 4.0]])
    assert Box((), "uint8", ranks="").contains(255)


def test_bounds_are_compared_in_the_dtype_of_the_box():
    box = FloatBox(0.1, 0.3, ranks="")
    for value in (0.1, 0.3, np.float32(0.1), np.float32(0.3)):
        assert box.contains(value)


def test_infinity_is_only_in_a_box_without_bounds():
    assert FloatBox(ranks="").contains(math.inf)
    assert not FloatBox(high=1e38, ranks="").contains(math.inf)


def test_no_rows_are_contained():
    assert IntBox(3, ranks="BT").contains(np.zeros((0, 4), "int64"))


@pytest.mark.parametrize(
    ("space", "value", "reason"),
    [
        (IntBox(3, ranks=""), 3, "holds 3, above high=2"),
        (IntBox(3, ranks=""), 1.5, "dtype is float64, should be int64"),
        (IntBox(3), [0, -1], "holds -1 at [1], below low=0"),
        (IntBox([2, 3], shape=(2,)), [[0, 0], [0, 3]], "holds 3 at [1, 1], above high=2"),
        (IntBox(ranks=""), 2**63, "holds 9223372036854775808, above high=9223372036854775807"),
        (Box((), "uint8", ranks=""), -1, "holds -1, below low=0"),
        (FloatBox(ranks=""), math.nan, "holds nan"),
        (FloatBox(), [0.0, math.nan], "holds nan at [1]"),
        (FloatBox(0, 1), [0.5, 1.5], "holds 1.5 at [1], above high=1.0"),
        (FloatBox(), [1, 2], "dtype is int64, should be float32"),
        (IntBox(2, ranks=""), True, "dtype is bool, should be int64"),
        (BoolBox(ranks=""), 1, "dtype is int64, should be bool"),
        (FloatBox(), "abc", "type is str, should be an array of float32"),
        (FloatBox(), None, "type is NoneType, should be an array of float32"),
        (FloatBox(), {"a": 1.0}, "type is dict, should be an array of float32"),
        (FloatBox(), [[1.0], [1.0, 2.0]], "type is list, which numpy can't read as an array"),
        (FloatBox(), 0.5, "shape is (), should be (B,)"),
        (FloatBox(shape=(2,), ranks="BT"), [[0.5]], "shape is (1, 1), should be (B, T, 2)"),
        (FloatBox(shape=(2, 3), ranks=""), [0.5], "shape is (1,), should be (2, 3)"),
        (Dict(a=FloatBox()), [0.5], "type is list, should be a dict with keys 'a'"),
        (Dict(a="float", b="int"), {"b": 1, "c": 2}, "keys are 'b', 'c', should be 'a', 'b'"),
        (Tuple(FloatBox()), [0.5], "type is list, should be a tuple of 1"),
        (Tuple("int", "int"), (1,), "length is 1, should be 2"),
        (Dict(a=["bool", "int"]), {"a": ([True], [0.5])}, "a/1: dtype is float64, should be int64"),
        (Dict(a={"b": "int"}), {"a": 3}, "a: type is int, should be a dict with keys 'b'"),
        (Tuple("bool", "int"), ([True], [1, 2]), "1: B is 2, but 1 in 0"),
    ],
)
def test_a_misfit_is_told_in_one_line(space, value, reason):
    assert space.why_not(value) == reason
    assert not space.contains(value)


def test_equal_ranks_have_equal_sizes_in_all_leaves():
    space = Dict(a=FloatBox(ranks="BT"), b=FloatBox(ranks="T"), c=FloatBox(ranks=""))
    value = {"a": np.zeros((2, 3)), "b": np.zeros(3), "c": 0.0}
    assert space.contains(value)
    assert space.why_not({**value, "b": np.zeros(2)}) == "b: T is 2, but 3 in a"
