"""Promises of trees: everything comes back as it went in, and digests tell content only."""

from __future__ import annotations

import enum
import json
import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp

from rlg.errors import CheckpointError
from rlg.tracking import CheckpointStore, digest
from rlg.tracking.checkpoints.tree import first_difference

DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 "
    "complex128 >f4 >i8 <U3 S5 datetime64[s] timedelta64[us]"
).split()


def arrays() -> st.SearchStrategy[Any]:
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    return st.sampled_from(DTYPES).flatmap(lambda dtype: hnp.arrays(dtype, shapes))


def scalars() -> st.SearchStrategy[Any]:
    return hnp.arrays(st.sampled_from(["bool", "int16", "uint64", "float32", "float64"]), 1).map(
        lambda array: array[0]
    )


texts = st.text(st.characters(exclude_categories=()), max_size=6) | st.sampled_from(
    ["$array", "$float", "__metadata__", "a/b", "", ".."]
)
big = st.integers(min_value=-(10**5000), max_value=10**5000)
plain = st.none() | st.booleans() | st.integers() | big | st.floats() | texts
leaves = plain | arrays() | scalars()


def trees() -> st.SearchStrategy[Any]:
    inner = st.recursive(
        leaves,
        lambda children: st.one_of(
            st.lists(children, max_size=3),
            st.tuples(children, children),
            st.dictionaries(texts, children, max_size=3),
        ),
        max_leaves=8,
    )
    return st.dictionaries(texts, inner, max_size=4)


def same(a: Any, b: Any) -> bool:
    """Equal in type, value and bits; not-a-number equals itself."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray | np.generic):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, float):
        return repr(a) == repr(b)
    return bool(a == b)


@settings(max_examples=60)
@given(tree=trees())
def test_any_tree_comes_back_as_it_was(tmp_path_factory, tree):
    store = CheckpointStore(tmp_path_factory.mktemp("store"), keep=1)
    store.save(1, tree)
    loaded = store.load()
    assert same(loaded.tree, tree)
    for section, value in loaded.tree.items():
        loaded.check(section, value)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_dtype_and_shape_come_back(tmp_path, dtype):
    shapes = [(), (0,), (3,), (2, 0, 3), (2, 3)]
    values = [np.arange(math.prod(shape)).astype(dtype).reshape(shape) for shape in shapes]
    CheckpointStore(tmp_path).save(0, {"x": values})
    loaded = CheckpointStore(tmp_path).load().tree["x"]
    assert same(loaded, values)
    assert all(array.flags.writeable for array in loaded)


def test_arrays_that_are_not_contiguous_come_back(tmp_path):
    base = np.arange(24).reshape(4, 6)
    tree = {"x": {"turned": base.T, "strided": base[::2, ::3], "reversed": base[::-1]}}
    CheckpointStore(tmp_path).save(0, tree)
    loaded = CheckpointStore(tmp_path).load().tree
    np.testing.assert_equal(loaded, tree)


def test_generator_states_come_back(tmp_path):
    generators = {
        "philox": np.random.Philox(3),
        "pcg": np.random.PCG64(3),
        "mt": np.random.MT19937(3),
    }
    for generator in generators.values():
        np.random.Generator(generator).random(5)
    CheckpointStore(tmp_path).save(0, {name: g.state for name, g in generators.items()})
    for name, state in CheckpointStore(tmp_path).load().tree.items():
        fresh = type(generators[name])(0)
        fresh.state = state
        expected = np.random.Generator(generators[name]).random(10)
        np.testing.assert_array_equal(np.random.Generator(fresh).random(10), expected)


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "a/b is of type builtins.object"),
        (b"raw", "a/b is of type builtins.bytes"),
        ({1, 2}, "a/b is of type builtins.set"),
        (Colour.RED, "a/b is of type tests.tracking.test_tree.Colour"),
        ({1: 2}, "a/b has the key 1. Use strings"),
        (np.array([object()]), "a/b is an array of Python objects"),
        (np.zeros(2, [("x", "f4")]), "a/b is a ndarray of dtype"),
        (np.ma.masked_array([1, 2], [True, False]), "a/b is a MaskedArray"),
    ],
)
def test_what_would_not_come_back_is_refused_by_name(tmp_path, value, message):
    store = CheckpointStore(tmp_path)
    with pytest.raises(CheckpointError) as caught:
        store.save(0, {"a": {"b": value}})
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_no_file_holds_a_pickle(tmp_path):
    path = CheckpointStore(tmp_path).save(0, {"a": np.zeros(3), "b": "text", "c": np.float32(1)})
    assert sorted(file.name for file in path.iterdir()) == [
        "a.safetensors",
        "manifest.json",
        "state.json",
    ]
    assert json.loads((path / "state.json").read_text()) == {
        "a": {"$array": "a"},
        "b": "text",
        "c": {"$scalar": ["<f4", "0000803f"]},
    }


def test_digests_are_literally_stable():
    tree = {"w": np.arange(3, dtype="float32"), "n": 1, "x": [math.nan, None, "ä"]}
    assert digest(tree) == ("f44ffca803d63354e263364f76cd338dc3efc5bdf960b8b12c277c5ea8d13456")


def test_digests_ignore_the_order_of_keys_and_the_layout_of_arrays():
    x = np.arange(6.0).reshape(2, 3)
    assert digest({"a": x, "b": 1}) == digest({"b": 1, "a": np.asfortranarray(x)})


@pytest.mark.parametrize(
    "other",
    [
        np.array([1.0, 2.0]),
        np.array([1, 2], "float32").reshape(2, 1),
        np.array([1, 2], "int32"),
        np.array([1, np.nextafter(np.float32(2), np.float32(3))], "float32"),
        [1.0, 2.0],
    ],
)
def test_digests_tell_apart_dtype_shape_and_the_last_bit(other):
    assert digest(np.array([1, 2], "float32")) != digest(other)


@pytest.mark.parametrize(
    ("found", "line"),
    [
        ({"w": np.zeros(2), "n": 3}, None),
        ({"w": np.zeros(2), "n": 4}, "n is 4 instead of 3"),
        ({"w": np.zeros(3), "n": 3}, "w is float64[3] instead of float64[2]"),
        ({"n": 3}, "w is missing"),
        ({"w": np.zeros(2), "n": 3, "z": 1}, "z is new"),
    ],
)
def test_differences_are_named(found, line):
    assert first_difference({"w": np.zeros(2), "n": 3}, found) == line
