"""Ring buffers, queues and n-step segments: order, episodes, waiting, and what is refused."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from rlg.errors import ComponentError, ExecutionError, SpaceError
from rlg.graph.components.memories.fifo import FIFOQueue
from rlg.graph.components.memories.n_step import NStep
from rlg.graph.components.memories.ring import RingBuffer
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple
from rlg.testing import ComponentTest
from tests.patience import PATIENCE

STEPS = Dict(values=IntBox(), terminals=BoolBox(), truncations=BoolBox())


def steps(first, n, terminals=(), truncations=()):
    numbers = np.arange(first, first + n)
    return {
        "values": numbers,
        "terminals": np.isin(numbers, terminals),
        "truncations": np.isin(numbers, truncations),
    }


def ring(backend, capacity=6):
    return ComponentTest(RingBuffer(capacity), {"records": STEPS}, backend)


def test_episodes_end_by_terminals_and_truncations_and_come_in_order(backend):
    test = ring(backend, 8)
    test.call("insert", steps(0, 7, terminals=[1, 5], truncations=[2]))
    test.test("num_episodes", expected=3)
    assert test.call("get_episodes", 1)["values"].tolist() == [3, 4, 5]
    assert test.call("get_episodes", 2)["values"].tolist() == [2, 3, 4, 5]
    assert test.call("get_episodes", 3)["values"].tolist() == [0, 1, 2, 3, 4, 5]
    assert test.call("get_records", 2)["values"].tolist() == [5, 6]


def test_episodes_are_overwritten_from_their_beginning(backend):
    test = ring(backend)
    test.call("insert", steps(0, 4, terminals=[1, 3]))
    test.call("insert", steps(4, 5, terminals=[6], truncations=[8]))
    test.test("num_episodes", expected=3)
    assert test.call("get_episodes", 2)["values"].tolist() == [4, 5, 6, 7, 8]
    assert test.call("get_episodes", 3)["values"].tolist() == [3, 4, 5, 6, 7, 8]
    assert test.call("get_episodes", 1)["truncations"].tolist() == [False, True]


def test_more_than_there_is_can_not_be_had(backend):
    test = ring(backend)
    test.call("insert", steps(0, 3, terminals=[1]))
    with pytest.raises(ExecutionError, match=r"get_records: fewer than 4 records are there"):
        test.call("get_records", 4)
    with pytest.raises(ExecutionError, match=r"get_episodes: fewer than 2 episodes have ended"):
        test.call("get_episodes", 2)


@pytest.mark.parametrize(
    "records", [FloatBox(), Dict(a=FloatBox()), Dict(terminals=IntBox()), Tuple(BoolBox())]
)
def test_a_ring_needs_to_know_where_episodes_end(records):
    with pytest.raises(SpaceError, match=r"Give it a key 'terminals' with a BoolBox\(\)"):
        ComponentTest(RingBuffer(4), {"records": records})


# -- queues ---------------------------------------------------------------------------------------
def queue(backend="numpy", capacity=3, timeout=PATIENCE):
    records = Dict(a=IntBox(), b=Box((2,)))
    return ComponentTest(FIFOQueue(capacity, timeout), {"records": records}, backend)


def items(first, n):
    numbers = np.arange(first, first + n)
    return {"a": numbers, "b": np.stack([numbers, -numbers], -1).astype("float32")}


def test_a_queue_keeps_order_over_many_wraps(backend):
    test = queue(backend)
    for first in range(0, 20, 2):
        test.call("put", items(first, 2))
        found = test.call("get", 2)
        np.testing.assert_array_equal(found["a"], [first, first + 1])
        np.testing.assert_array_equal(found["b"][:, 1], [-first, -first - 1])


def test_batches_of_several_threads_stay_together_and_none_is_lost(backend):
    test = queue(backend, capacity=5)
    threads = [
        threading.Thread(target=lambda k=k: [test.call("put", items(100 * k, 7)) for _ in range(5)])
        for k in range(3)
    ]
    for thread in threads:
        thread.start()
    found = np.concatenate([test.call("get", 7)["a"] for _ in range(15)])
    for thread in threads:
        thread.join(PATIENCE)
    batches = found.reshape(15, 7)
    np.testing.assert_array_equal(batches - batches[:, :1], np.tile(np.arange(7), (15, 1)))
    np.testing.assert_array_equal(np.sort(batches[:, 0]), np.repeat([0, 100, 200], 5))
    test.test("size", expected=0)


def test_waiting_ends_with_an_error_that_says_why(backend):
    test = queue(backend, timeout=0.05)
    with pytest.raises(ExecutionError, match=r"fifo-queue.get: there was no records for 0.05 s"):
        test.call("get", 1)
    test.call("put", items(0, 3))
    with pytest.raises(ExecutionError, match=r"put: there was no room .*3 of 3.*another thread"):
        test.call("put", items(3, 1))
    np.testing.assert_array_equal(test.call("get", 3)["a"], [0, 1, 2])


def test_a_queue_is_saved_with_what_waits_in_it(backend):
    test = queue(backend)
    test.call("put", items(0, 3))
    test.call("get", 2)
    test.call("put", items(3, 1))
    other = queue("numpy")
    other.executor.set_state(test.executor.get_state())
    np.testing.assert_array_equal(other.call("get", 2)["a"], [2, 3])


def test_a_queue_without_patience_is_refused():
    with pytest.raises(ComponentError, match="timeout is 0"):
        queue(timeout=0)


# -- n steps --------------------------------------------------------------------------------------
def n_step(backend, n=3, gamma=0.5):
    flags = BoolBox(ranks="TB")
    spaces = {"rewards": FloatBox(ranks="TB"), "terminals": flags, "truncations": flags}
    return ComponentTest(NStep(n, gamma), spaces, backend)


def test_windows_stop_at_ends_and_tell_terminations_from_truncations(backend):
    rewards = np.float32([[1, 8], [2, 4], [3, 2], [4, 1], [5, 3]])
    terminals, truncations = np.zeros((2, 5, 2), bool)
    terminals[1, 0] = True
    truncations[2, 1] = True
    found = n_step(backend).call("call", rewards, terminals, truncations)
    sums, index, terminal, discount, whole = found
    np.testing.assert_allclose(sums[:, 0], [2, 2, 3 + 2 + 1.25, 6.5, 5])
    np.testing.assert_allclose(sums[:, 1], [10.5, 5, 2, 2.5, 3])
    np.testing.assert_array_equal(index, [[2, 3], [2, 3], [5, 3], [5, 5], [5, 5]])
    np.testing.assert_array_equal(terminal[:, 0], [True, True, False, False, False])
    assert not terminal[:, 1].any()
    np.testing.assert_allclose(discount[:, 1], [0.125, 0.25, 0.5, 0.25, 0.5])
    np.testing.assert_array_equal(whole[:, 0], [True, True, True, False, False])
    np.testing.assert_array_equal(whole[:, 1], [True, True, True, False, False])


def test_random_segments_equal_a_loop(backend):
    rng = np.random.default_rng(0)
    rewards = rng.normal(size=(12, 4)).astype("float32")
    terminals, truncations = rng.random((2, 12, 4)) < 0.15
    sums, index, terminal, discount, _ = n_step(backend, 4, 0.9).call(
        "call", rewards, terminals, truncations
    )
    for start, env in np.ndindex(12, 4):
        total, k = 0.0, 0
        while True:
            total += 0.9**k * rewards[start + k, env]
            k += 1
            last = start + k - 1
            ended = terminals[last, env] or truncations[last, env]
            if ended or k == 4 or last == 11:
                break
        np.testing.assert_allclose(sums[start, env], total, rtol=1e-5, atol=1e-6)
        assert index[start, env] == start + k
        assert terminal[start, env] == terminals[last, env]
        np.testing.assert_allclose(discount[start, env], 0.9**k, rtol=1e-5)


def test_segments_that_are_not_time_major_and_bad_settings_are_refused():
    flags = BoolBox(ranks="BT")
    spaces = {"rewards": FloatBox(ranks="BT"), "terminals": flags, "truncations": flags}
    with pytest.raises(SpaceError, match="ranks='TB'"):
        ComponentTest(NStep(), spaces)
    with pytest.raises(ComponentError, match="n_step is 0"):
        n_step("numpy", 0)
