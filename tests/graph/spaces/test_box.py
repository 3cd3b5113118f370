"""Boxes: fields, bounds, constructors, and refusals at birth."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from rlg.errors import SpaceError
from rlg.graph.spaces import DTYPES, BoolBox, Box, FloatBox, IntBox

DTYPE_NAMES = "float32, float64, float16, int8, int16, int32, int64, uint8, bool"


def test_the_default_is_a_batch_of_float_scalars():
    box = Box()
    assert (box.shape, box.dtype, box.low, box.high, box.ranks) == ((), "float32", None, None, "B")
    assert box == FloatBox()
    assert ", ".join(DTYPES) == DTYPE_NAMES


@pytest.mark.parametrize(
    ("box", "text"),
    [
        (Box(), "Box(shape=(), dtype='float32', ranks='B')"),
        (
            Box((84, 84, 4), "uint8", 0, 255),
            "Box(shape=(84, 84, 4), dtype='uint8', low=0, high=255, ranks='B')",
        ),
        (Box((1,), high=1, ranks=""), "Box(shape=(1,), dtype='float32', high=1.0, ranks='')"),
        (
            FloatBox([0, -math.inf], shape=(2,)),
            "Box(shape=(2,), dtype='float32', low=(0.0, -inf), ranks='B')",
        ),
        (
            FloatBox(np.arange(9), shape=(9,)),
            "Box(shape=(9,), dtype='float32', low=<9 values from 0.0 to 8.0>, ranks='B')",
        ),
    ],
)
def test_the_repr_is_short(box, text):
    assert repr(box) == text


def test_a_box_is_frozen():
    box = Box()
    with pytest.raises(FrozenInstanceError):
        box.ranks = "T"


def test_shapes_may_be_lists_and_numpy_integers():
    assert Box([np.int64(3), 2]) == Box((3, 2))
    assert hash(Box([np.int64(3), 2])) == hash(Box((3, 2)))
    assert Box([]) == Box()


def test_bounds_have_one_form():
    assert FloatBox(0, 1).low == 0.0
    assert type(FloatBox(0, 1).low) is float
    assert FloatBox([2, 2], shape=(2,)).low == 2.0
    assert FloatBox(np.array([[1, 2]]), shape=(1, 2)).low == ((1.0, 2.0),)
    assert FloatBox(-math.inf, math.inf) == FloatBox()
    assert FloatBox([-np.inf] * 2, shape=(2,)).low is None
    assert Box((2,), "int8", np.array([1, 2], "int8")).low == (1, 2)


def test_a_float_bound_is_the_shortest_that_its_dtype_can_tell():
    assert FloatBox(high=np.float32(0.3)) == FloatBox(high=0.3)
    assert FloatBox(high=np.float32(0.3)).high == 0.3
    assert FloatBox(high=float(np.float32(0.3)), dtype="float64").high != 0.3
    assert FloatBox(high=np.finfo("float32").max).high == 3.4028235e38


def test_different_bounds_are_different_boxes():
    assert FloatBox(0, 1) != FloatBox(0, 2)
    assert IntBox(3) != IntBox(4)
    assert Box(dtype="uint8") != Box(dtype="uint8", low=0, high=255)
    assert len({FloatBox(0, 1), FloatBox(0.0, 1.0), FloatBox(0, 2)}) == 2


def test_int_box_excludes_high_and_its_field_includes_it():
    assert IntBox(3) == Box((), "int64", 0, 2)
    assert IntBox(1, 4) == Box((), "int64", 1, 3)
    assert IntBox(high=3) == IntBox(3)
    assert IntBox() == Box((), "int64")
    assert IntBox(256, shape=(2,), dtype="uint8") == Box((2,), "uint8", 0, 255)
    assert IntBox([3, 5], shape=(2,)) == Box((2,), "int64", 0, (2, 4))
    assert IntBox(-(2**63), 2**63) == Box((), "int64", -(2**63), 2**63 - 1)


def test_bool_box_has_no_bounds():
    assert BoolBox((2,), "T") == Box((2,), "bool", None, None, "T")


@pytest.mark.parametrize(
    ("box", "categories"),
    [
        (IntBox(3), 3),
        (IntBox(5, shape=(2,)), 5),
        (IntBox([3, 5], shape=(2,)), (3, 5)),
        (IntBox([[3], [5]], shape=(2, 1)), ((3,), (5,))),
        (Box((), "uint8", 0, 255), 256),
        (IntBox(1, 3), None),
        (IntBox([0, 1], 3, shape=(2,)), None),
        (IntBox(), None),
        (Box((), "int8", low=0), None),
        (FloatBox(0, 1), None),
        (BoolBox(), None),
    ],
)
def test_num_categories_counts_choices_from_zero(box, categories):
    assert box.num_categories == categories


def test_a_box_knows_its_kind():
    assert [box.kind for box in (FloatBox(), IntBox(), BoolBox())] == ["float", "int", "bool"]
    assert Box().is_container is False


def test_like_ignores_ranks_and_bounds():
    assert FloatBox(0, 1, (3,)).like(FloatBox(shape=(3,), ranks="BT"))
    assert not FloatBox(shape=(3,)).like(FloatBox(shape=(4,)))
    assert not FloatBox().like(FloatBox(dtype="float64"))


def test_map_calls_the_function_on_the_box():
    assert FloatBox().map(lambda box: IntBox(ranks=box.ranks)) == IntBox()


def test_flatten_has_the_box_at_the_root():
    assert IntBox(3).flatten() == {(): IntBox(3)}


def test_with_the_same_ranks_a_box_is_itself():
    box = IntBox(3)
    assert box.with_ranks("B") is box
    assert box.with_ranks("TB") == IntBox(3, ranks="TB")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Box(64),
            "Box shape is 64; for a vector write shape=(64,).",
        ),
        (
            lambda: Box((None, 3)),
            (
                "Box shape is (None, 3); give a tuple of positive integers. Batch and time don't "
                "belong to it: name them in ranks."
            ),
        ),
        (
            lambda: Box((0,)),
            (
                "Box shape is (0,); give a tuple of positive integers. Batch and time don't "
                "belong to it: name them in ranks."
            ),
        ),
        (
            lambda: Box((True,)),
            (
                "Box shape is (True,); give a tuple of positive integers. Batch and time don't "
                "belong to it: name them in ranks."
            ),
        ),
        (lambda: Box(dtype="float"), f"Box dtype is 'float'; use one of {DTYPE_NAMES}."),
        (
            lambda: Box(dtype=np.dtype("int8")),
            f"Box dtype is dtype('int8'); use one of {DTYPE_NAMES}.",
        ),
        (
            lambda: Box(ranks="BTB"),
            "Box ranks are 'BTB'; use one of '', 'B', 'T', 'BT', 'TB', 'F'.",
        ),
        (
            lambda: Box().with_ranks(None),
            "Box ranks are None; use one of '', 'B', 'T', 'BT', 'TB', 'F'.",
        ),
        (
            lambda: Box(dtype="bool", high=1),
            "A bool Box has no bounds, but high is 1. Leave it out.",
        ),
        (lambda: Box(low="0"), "Box low is '0'; float32 bounds are numbers or None."),
        (lambda: Box(low=True), "Box low is True; float32 bounds are numbers or None."),
        (
            lambda: Box((2,), low=[[1], [2, 3]]),
            "Box low is [[1], [2, 3]]; float32 bounds are numbers or None.",
        ),
        (
            lambda: Box(dtype="int8", high=1.0),
            "Box high is 1.0; int8 bounds are whole numbers or None.",
        ),
        (
            lambda: Box((2,), "int8", high=[1.0, 2.0]),
            "Box high is [1.0, 2.0]; int8 bounds are whole numbers or None.",
        ),
        (
            lambda: Box((3,), low=[1, 2]),
            (
                "Box low has shape (2,), but the Box has (3,). Give one number for all elements or "
                "one for each."
            ),
        ),
        (
            lambda: Box(dtype="uint8", high=256),
            "Box high=256 is outside of uint8, which goes from 0 to 255. Take a wider dtype.",
        ),
        (
            lambda: Box(high=1e39),
            "Box high=1e+39 is outside of float32; give None for no bound, or a wider dtype.",
        ),
        (
            lambda: Box(low=math.nan),
            "Box low is nan; give a number, or None for no bound.",
        ),
        (
            lambda: Box((2,), low=[0.0, math.inf]),
            "Box low is inf; give a number, or None for no bound.",
        ),
        (
            lambda: Box(high=-math.inf),
            "Box high is -inf; give a number, or None for no bound.",
        ),
        (
            lambda: FloatBox(3, 1),
            "Box low=3.0 is above high=1.0; no value fits between.",
        ),
        (
            lambda: FloatBox([0, 3], 1, (2,)),
            "Box low=(0.0, 3.0) is above high=1.0; no value fits between.",
        ),
        (
            lambda: FloatBox(dtype="int8"),
            "FloatBox dtype is 'int8'; use one of float32, float64, float16.",
        ),
        (
            lambda: IntBox(dtype="float32"),
            "IntBox dtype is 'float32'; use one of int8, int16, int32, int64, uint8.",
        ),
        (
            lambda: IntBox(0),
            (
                "IntBox from 0 to 0 holds no value: high is excluded. Give a higher one, as in "
                "IntBox(0, 1), which holds 0."
            ),
        ),
        (lambda: IntBox(1.5), "Box high is 1.5; int64 bounds are whole numbers or None."),
    ],
)
def test_a_wrong_box_is_refused_with_the_way_out(make, message):
    with pytest.raises(SpaceError) as refusal:
        make()
    assert str(refusal.value) == message
