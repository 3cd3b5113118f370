"""Plain forms of spaces, full and short."""

from __future__ import annotations

import math

import pytest

from rlg.errors import SpaceError
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple, space_from_spec


def test_a_box_is_written_with_its_bounds_where_it_has_some():
    assert Box().to_spec() == {"type": "box", "shape": [], "dtype": "float32", "ranks": "B"}
    assert IntBox([3, 5], shape=(2,), ranks="").to_spec() == {
        "type": "box",
        "shape": [2],
        "dtype": "int64",
        "low": 0,
        "high": [2, 4],
        "ranks": "",
    }


def test_an_infinite_bound_is_written_as_none():
    box = FloatBox([-math.inf, 0.0], shape=(2,))
    assert box.to_spec()["low"] == [None, 0.0]
    assert space_from_spec(box.to_spec()) == box


def test_containers_are_written_with_their_type():
    leaf = {"type": "box", "shape": [], "dtype": "bool", "ranks": "B"}
    assert Dict(a=Tuple("bool")).to_spec() == {
        "type": "dict",
        "spaces": {"a": {"type": "tuple", "spaces": [leaf]}},
    }


@pytest.mark.parametrize(
    ("spec", "space"),
    [
        ("float", FloatBox()),
        ("int", IntBox()),
        ("bool", BoolBox()),
        ({"type": "box"}, Box()),
        ({"type": "box", "shape": [3], "low": -1, "high": None}, FloatBox(-1, shape=(3,))),
        ({"a": "int", "b": {"c": "bool"}}, Dict(a=IntBox(), b=Dict(c=BoolBox()))),
        (["int", ["bool"]], Tuple(IntBox(), Tuple(BoolBox()))),
        ({"type": "dict", "spaces": {"type": "int"}}, Dict({"type": IntBox()})),
        ({"type": "tuple", "spaces": ["int", IntBox(3)]}, Tuple(IntBox(), IntBox(3))),
        (IntBox(3), IntBox(3)),
    ],
)
def test_full_and_short_forms_are_read(spec, space):
    assert space_from_spec(spec) == space


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("flaot", "Space 'flaot' is unknown; use 'bool', 'float', 'int' or a dict."),
        ({"a": [3]}, "a/0: 3 is not a space; give a space, a dict, a list or a word."),
        (
            {"a": {"type": "int"}},
            (
                "a: Space type 'int' is unknown; use one of 'box', 'dict', 'tuple'. A Dict with "
                "a key 'type' is written {'type': 'dict', 'spaces': {'type': ...}}."
            ),
        ),
        (
            {"type": "box", "size": 3},
            "A box has no 'size'; it has 'dtype', 'high', 'low', 'ranks', 'shape'.",
        ),
        (
            {"type": "tuple", "spaces": {"a": "int"}},
            "The `spaces` of a tuple are a list, but here they are {'a': 'int'}.",
        ),
        (
            {"type": "dict"},
            "The `spaces` of a dict are a dict, but here they are None.",
        ),
        (
            {"a": {"b": {"type": "box", "ranks": "X"}}},
            "a/b: Box ranks are 'X'; use one of '', 'B', 'T', 'BT', 'TB', 'F'.",
        ),
        ({"a": {}}, "a: Dict has no entries; give at least one, as in Dict(a=FloatBox())."),
        ([[]], "0: Tuple has no entries; give at least one, as in Tuple(FloatBox())."),
    ],
)
def test_a_wrong_form_is_refused_with_its_place(spec, message):
    with pytest.raises(SpaceError) as refusal:
        space_from_spec(spec)
    assert str(refusal.value) == message
