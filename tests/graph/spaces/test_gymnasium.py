"""Spaces from gymnasium and back: literal cases; the round trip is in `test_properties.py`."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from gymnasium import spaces as gym

from rlg.errors import SpaceError
from rlg.graph.spaces import (
    DTYPES,
    BoolBox,
    Box,
    Dict,
    FloatBox,
    IntBox,
    Tuple,
    from_gymnasium,
    to_gymnasium,
)

PAIRS = [
    (gym.Box(-1.0, 1.0, (3,)), FloatBox(-1, 1, (3,))),
    (gym.Box(-np.inf, np.inf, (2,), np.float64), FloatBox(shape=(2,), dtype="float64")),
    (
        gym.Box(np.array([0.3, -np.inf], "float32"), np.array([1.0, np.inf], "float32")),
        FloatBox([0.3, -np.inf], [1.0, np.inf], (2,)),
    ),
    (gym.Box(0, 255, (84, 84, 4), np.uint8), Box((84, 84, 4), "uint8", 0, 255)),
    (gym.Box(-np.inf, np.inf, (2,), np.int32), Box((2,), "int32")),
    (gym.Box(0, 5, (2,), np.int32), Box((2,), "int32", 0, 5)),
    (gym.Box(0, 1, (2,), np.bool_), BoolBox((2,))),
    (gym.Discrete(4), IntBox(4)),
    (gym.Discrete(3, start=-1), IntBox(-1, 2)),
    (gym.Discrete(3, dtype=np.int32), IntBox(3, dtype="int32")),
    (gym.MultiDiscrete([3, 5]), IntBox([3, 5], shape=(2,))),
    (gym.MultiDiscrete([3, 5], start=[1, 2]), IntBox([1, 2], [4, 7], (2,))),
    (gym.MultiDiscrete([[4], [4]]), IntBox(4, shape=(2, 1))),
    (gym.MultiBinary(3), Box((3,), "int8", 0, 1)),
    (gym.MultiBinary((3, 2)), Box((3, 2), "int8", 0, 1)),
    (
        gym.Dict(b=gym.Discrete(2), a=gym.Tuple([gym.Discrete(3), gym.MultiBinary(2)])),
        Dict(a=Tuple(IntBox(3), Box((2,), "int8", 0, 1)), b=IntBox(2)),
    ),
]


@pytest.mark.parametrize(("theirs", "ours"), PAIRS)
def test_gymnasium_spaces_have_counterparts(theirs, ours):
    assert from_gymnasium(theirs) == ours
    assert to_gymnasium(ours) == theirs
    theirs.seed(0)
    assert ours.with_ranks("").why_not(theirs.sample()) is None


@pytest.mark.parametrize(
    ("theirs", "back"),
    [
        (gym.Box(0, 5, (2,), np.int64), gym.MultiDiscrete([6, 6])),
        (gym.Box(0, 5, (), np.int64), gym.Discrete(6)),
        (gym.MultiDiscrete([3, 3], dtype=np.int32), gym.Box(0, 2, (2,), np.int32)),
        (gym.Box(0, 1, (2,), np.int8), gym.MultiBinary(2)),
    ],
)
def test_classes_with_equal_values_are_one_box(theirs, back):
    assert to_gymnasium(from_gymnasium(theirs)) == back


def test_all_leaves_get_the_ranks():
    theirs = gym.Tuple([gym.Discrete(2), gym.Dict(a=gym.Box(0, 1, ())), gym.MultiBinary(2)])
    for ranks in ("", "BT"):
        assert from_gymnasium(theirs, ranks).ranks == ranks


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (
            gym.Text(3),
            (
                "gymnasium's Text has no counterpart; supported are Box, Discrete, MultiDiscrete, "
                "MultiBinary, Dict and Tuple. Wrap the environment so that it uses these."
            ),
        ),
        (
            gym.Dict(a=gym.Tuple([gym.Sequence(gym.Discrete(2))])),
            (
                "a/0: gymnasium's Sequence has no counterpart; supported are Box, Discrete, "
                "MultiDiscrete, MultiBinary, Dict and Tuple. Wrap the environment so that it uses "
                "these."
            ),
        ),
        (
            gym.Dict(a=gym.Box(0, 9, (2,), np.uint16)),
            (
                f"a: gymnasium's Box has dtype uint16; supported are {', '.join(DTYPES)}. "
                "Wrap the environment so that it casts."
            ),
        ),
    ],
)
def test_other_spaces_are_refused_by_name(space, message):
    with pytest.raises(SpaceError) as refusal:
        from_gymnasium(space)
    assert str(refusal.value) == message


def test_importing_spaces_imports_neither_gymnasium_nor_a_framework():
    code = (
        "import sys, rlg.graph.spaces; "
        "sys.exit(any(name in sys.modules for name in ('gymnasium', 'torch', 'tensorflow')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
