"""The queue of rollouts: order, waiting for room, and what is refused."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from rlg.backends import channel
from rlg.errors import ClosedError, ExecutionError, SpaceError
from rlg.graph.components.memories.rollout_queue import RolloutQueue
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest
from tests.patience import PATIENCE

SPACE = Dict(rewards=FloatBox(ranks="TB"), versions=IntBox(), flags=Dict(x=Box((2,), ranks="TB")))


def rollout(number: int, steps: int = 2) -> dict[str, Any]:
    return {
        "rewards": np.full((steps, 1), number, np.float32),
        "versions": np.array([number]),
        "flags": {"x": np.full((steps, 1, 2), -number, np.float32)},
    }


def made(backend: str, capacity: int = 3) -> ComponentTest:
    queue = RolloutQueue(SPACE, capacity)
    return ComponentTest(queue, {"rollout": SPACE, "get.count": 2}, backend)


def test_rollouts_come_back_in_order_and_side_by_side(backend):
    test = made(backend)
    given = [rollout(number) for number in (1, 2, 3)]
    for each in given:
        test.call("put", each)
    given[0]["rewards"][:] = 9.0  # What was put is the queue's.
    test.test("size", expected=3)
    found = test.call("get", 2)
    assert found["rewards"].tolist() == [[1.0, 2.0], [1.0, 2.0]]
    assert found["versions"].tolist() == [1, 2]
    assert found["flags"]["x"].tolist() == [[[-1.0, -1.0], [-2.0, -2.0]]] * 2
    assert test.call("get", 1)["versions"].tolist() == [3]
    test.test("size", expected=0)


def test_large_and_small_leaves_of_all_dtypes_come_back_as_they_were(backend):
    space = Dict(
        frames=Box((300,), "uint8", ranks="TB"),
        ends=BoolBox(ranks="TB"),
        counts=IntBox(),
        values=FloatBox(),
        bits=Box((3,), "int8"),
        bytes=Box((2,), "uint8"),
    )
    test = ComponentTest(RolloutQueue(space, 2), {"rollout": space, "get.count": 1}, backend)
    given = {
        "frames": np.arange(1200, dtype=np.uint8).reshape(2, 2, 300),
        "ends": np.array([[True, False], [False, True]]),
        "counts": np.array([-(2**40), 7]),
        "values": np.zeros(0, np.float32),  # of episodes, none
        "bits": np.array([[-1, 0, 1]] * 2, np.int8),
        "bytes": np.array([[255, 0], [1, 2]], np.uint8),
    }
    test.call("put", given)
    found = test.call("get", 1)
    for name, value in given.items():
        assert found[name].dtype == value.dtype, name
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_who_puts_waits_for_room(backend):
    test = made(backend, capacity=1)
    test.call("put", rollout(1))
    done = threading.Event()

    def put() -> None:
        test.call("put", rollout(2))
        done.set()

    thread = threading.Thread(target=put, daemon=True)
    test.call("size")
    thread.start()
    assert not done.wait(0.3)
    assert test.call("get", 1)["versions"].tolist() == [1]
    assert done.wait(PATIENCE)
    assert test.call("get", 1)["versions"].tolist() == [2]


def test_a_closed_queue_takes_nothing(backend):
    test = made(backend)
    test.call("close")
    with pytest.raises(ClosedError, match="closed"):
        test.call("put", rollout(1))


def test_waiting_in_one_thread_is_an_error(monkeypatch):
    monkeypatch.setattr(channel, "PATIENCE", 0.05)
    test = made("numpy", capacity=1)
    with pytest.raises(ExecutionError, match=r"nothing to get for 0.05 s \(0 of 1 items\)"):
        test.call("get", 1)
    test.call("put", rollout(1))
    with pytest.raises(ExecutionError, match=r"no room for 0.05 s \(1 of 1 items\)"):
        test.call("put", rollout(2))


def test_every_leaf_needs_a_batch():
    space = Dict(x=FloatBox(ranks="T"))
    with pytest.raises(SpaceError, match="Give every leaf a batch rank"):
        ComponentTest(RolloutQueue(space), {"rollout": space}, "numpy")
