"""The memory of demonstrations and the penalty on weights, by literal numbers."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import ComponentError, ExecutionError
from rlg.graph.components.losses.l2 import L2Loss
from rlg.graph.components.memories.demonstrations import DemonstrationReplay
from rlg.graph.components.memories.one_and_n_step import OneAndNStep
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest

SPACES = {
    "records": IntBox(),
    "priorities": FloatBox(),
    "td_errors": FloatBox(),
    "keys": IntBox(),
    "beta": FloatBox(ranks=""),
}


def made(backend="numpy", capacity=6, **options):
    return ComponentTest(DemonstrationReplay(capacity, **options), SPACES, backend)


def leaves(test):
    sums = test.read("tree/sums")
    return sums[len(sums) // 2 :][:6]


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
def test_demonstrations_stay_in_front_of_a_ring_of_own_records(backend):
    test = made(backend)
    test.call("demonstrate", [100])
    test.call("demonstrate", [101])
    test.call("insert", [1, 2, 3])
    assert test.read("records").tolist() == [100, 101, 1, 2, 3, 0]
    test.call("insert", [4, 5, 6])
    assert test.read("records").tolist() == [100, 101, 5, 6, 3, 4]
    assert test.call("size") == 6
    assert test.call("demonstrated", [0, 1, 2, 5, 6, 8]).tolist() == [1, 1, 0, 0, 1, 0]
    with pytest.raises(ExecutionError, match="own records are there already"):
        test.call("demonstrate", [102])


@pytest.mark.parametrize(("own", "expected"), [([1, 2], [[1, 2]]), ([1, 2, 3, 4], [[2, 3], [4]])])
def test_only_own_records_move_to_another_memory_the_oldest_first(own, expected):
    test = ComponentTest(DemonstrationReplay(5), SPACES, "numpy")
    test.call("demonstrate", [100, 101])
    for record in own:
        test.call("insert", [record])
    assert [records.tolist() for _, records in test.component._by_age(2)] == expected


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
def test_each_kind_of_record_has_its_own_bonus(backend):
    test = made(backend, alpha=0.5, epsilon=0.25, demonstration_epsilon=2.0)
    test.call("demonstrate", [100, 101])
    test.call("insert", [1, 2])
    np.testing.assert_allclose(leaves(test), [1, 1, 1, 1, 0, 0])
    assert test.call("update", [0, 1, 2, 3], [7.0, -2.0, 0.0, -2.0]) == 0
    np.testing.assert_allclose(leaves(test)[:4], [3.0, 2.0, 0.5, 1.5])
    # What comes next has the largest priority so far, 7 + 2.
    test.call("insert", [3])
    assert leaves(test)[4] == pytest.approx(3.0)


def test_demonstrations_leave_room_and_are_not_replayed_less():
    with pytest.raises(ExecutionError, match="no room is left"):
        made().call("demonstrate", range(6))
    with pytest.raises(ComponentError, match="demonstration_epsilon must be at least epsilon"):
        made(epsilon=1.0, demonstration_epsilon=0.5)


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
def test_records_know_the_single_step_and_the_window(backend):
    steps = {
        "states": FloatBox(),
        "rewards": FloatBox(),
        "terminals": BoolBox(),
        "truncations": BoolBox(),
        "next_states": FloatBox(),
    }
    test = ComponentTest(OneAndNStep(2, 0.5), {"records": Dict(steps).with_ranks("TB")}, backend)
    ends = np.array([[False], [True], [False], [False]])
    states = np.arange(4.0, dtype="float32")[:, None]
    found = test.call(
        "call",
        {
            "states": states,
            "rewards": [[1.0], [2.0], [4.0], [8.0]],
            "terminals": ends,
            "truncations": ends & False,
            "next_states": states + 10.0,
        },
    )
    expected = {
        "states": [0, 1, 2],
        "rewards": [1, 2, 4],
        "terminals": [0, 1, 0],
        "next_states": [10, 11, 12],
        "n_step_rewards": [2, 2, 8],
        "n_step_terminals": [1, 1, 0],
        "n_step_next_states": [11, 11, 13],
        "discounts": [0.25, 0.5, 0.25],
    }
    assert found.keys() == expected.keys()
    for name, numbers in expected.items():
        assert found[name].tolist() == numbers, name


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
def test_the_penalty_is_half_the_sum_of_squares(backend):
    spaces = {"variables": Dict(a=Box((2,), ranks=""), b=FloatBox(ranks=""))}
    test = ComponentTest(L2Loss(0.1), spaces, backend)
    test.test("loss", {"a": [1.0, 2.0], "b": 3.0}, expected=0.7)
