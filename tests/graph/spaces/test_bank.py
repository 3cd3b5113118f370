"""The reference cases of the family `space`, as they stand in the bank."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rlg.graph.spaces import BoolBox, Dict, FloatBox, IntBox, Tuple, path_name
from tests.bank import CASES, covers


def expected(name: str) -> dict[str, Any]:
    return dict(CASES[name]["expected"])


@covers("space.flatten_order_and_dims")
def test_flatten_order_and_dims():
    space = Tuple(
        Dict(a=BoolBox(), b=IntBox(4), c=Dict(d=FloatBox())),
        BoolBox(),
        IntBox(2),
        FloatBox(shape=(3, 2)),
        Tuple(BoolBox(), BoolBox()),
    )
    case = expected("space.flatten_order_and_dims")
    leaves = space.flatten()
    assert [path_name(path) for path in leaves] == case["paths"]
    assert [box.flat_dim for box in leaves.values()] == case["flat_dims"]
    assert space.flat_dim == case["total"]


@covers("space.int_bounds")
@pytest.mark.parametrize(("value", "inside"), expected("space.int_bounds")["contains"].items())
def test_int_bounds(value, inside):
    space = IntBox(CASES["space.int_bounds"]["inputs"]["high"], ranks="")
    assert space.contains(json.loads(value)) is inside


@covers("space.equality_and_hash")
def test_equality_and_hash():
    inputs = CASES["space.equality_and_hash"]["inputs"]
    one, two, again = FloatBox(*inputs["a"]), FloatBox(*inputs["b"]), FloatBox(*inputs["a"])
    assert (one == two) is expected("space.equality_and_hash")["equal"]
    assert one == again
    assert hash(one) == hash(again)


@covers("space.horizontal_samples_differ")
def test_horizontal_samples_differ():
    n = CASES["space.horizontal_samples_differ"]["inputs"]["n"]
    sample = Dict(a=FloatBox(shape=(4,)), b=FloatBox(0.0, 1.0)).sample(0, batch=n)
    rows = expected("space.horizontal_samples_differ")["distinct_rows"]
    assert len({tuple(row) for row in sample["a"]}) == rows
    assert len(set(sample["b"].tolist())) == rows
