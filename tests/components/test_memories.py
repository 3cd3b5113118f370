"""The replay memory: what stays, what is sampled, and what is refused before memory is taken."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from rlg.errors import BuildError, ComponentError, ExecutionError, SpaceError
from rlg.execution.adders import Frames
from rlg.graph.components.memories.fifo import FIFOQueue
from rlg.graph.components.memories.frames import FrameReplay
from rlg.graph.components.memories.prioritized import PrioritizedReplay
from rlg.graph.components.memories.replay import ReplayMemory
from rlg.graph.components.memories.ring import RingBuffer
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple
from rlg.testing import ComponentTest

RECORDS = Dict(states=Box((2,)), b=Dict(ba=IntBox(9), bb=BoolBox()))


def records(first, n):
    numbers = np.arange(first, first + n)
    return {
        "states": np.stack([numbers, -numbers], -1).astype("float32"),
        "b": {"ba": numbers, "bb": numbers % 2 == 0},
    }


def test_insert_overwrites_the_oldest_records_when_full(backend):
    test = ComponentTest(ReplayMemory(10), {"records": RECORDS}, backend)
    test.call("insert", records(0, 7))
    test.test("size", expected=7)
    test.call("insert", records(7, 7))
    test.test("size", expected=10)
    assert test.read("index") == 4
    np.testing.assert_array_equal(test.read("b/ba"), [10, 11, 12, 13, 4, 5, 6, 7, 8, 9])


def test_of_an_insert_larger_than_the_memory_the_newest_stay(backend):
    test = ComponentTest(ReplayMemory(3), {"records": RECORDS}, backend)
    test.call("insert", records(0, 2))
    test.call("insert", records(2, 8))
    np.testing.assert_array_equal(test.read("states"), [[9, -9], [7, -7], [8, -8]])
    assert (test.read("index"), test.read("size")) == (1, 3)


def test_columns_are_named_by_their_paths():
    test = ComponentTest(ReplayMemory(4), {"records": RECORDS})
    names = {
        path.removeprefix("replay-memory/") for path in test.executor.builder.binding.variables
    }
    assert names == {"states", "b/ba", "b/bb", "index", "size"}


def test_samples_are_whole_records_that_were_inserted(backend):
    test = ComponentTest(ReplayMemory(10), {"records": RECORDS}, backend)
    test.call("insert", records(3, 6))
    sample, rows = test.call("sample", 300)
    numbers = sample["b"]["ba"]
    assert set(numbers) == set(range(3, 9))
    np.testing.assert_array_equal(rows, numbers - 3)
    np.testing.assert_array_equal(sample["states"], np.stack([numbers, -numbers], -1))
    np.testing.assert_array_equal(sample["b"]["bb"], numbers % 2 == 0)
    assert np.bincount(numbers)[3:].min() > 30  # 50 on average.


def test_samples_differ_from_call_to_call_and_not_between_backends(backend):
    test = ComponentTest(ReplayMemory(1000), {"records": RECORDS}, backend)
    test.call("insert", records(0, 1000))
    first, second = test.call("sample", 4)[1], test.call("sample", 4)[1]
    np.testing.assert_array_equal(first, [827, 886, 613, 356])
    np.testing.assert_array_equal(second, [826, 357, 845, 955])


def test_an_empty_memory_is_not_sampled(backend):
    test = ComponentTest(ReplayMemory(5), {"records": RECORDS}, backend)
    with pytest.raises(ExecutionError, match=r"replay-memory.sample: the memory is empty. Insert"):
        test.call("sample", 2)
    test.call("insert", records(7, 1))
    np.testing.assert_array_equal(test.call("sample", 2)[1], [0, 0])


@pytest.mark.parametrize("space", [FloatBox(), Tuple(FloatBox(), Box((2,), "uint8"))])
def test_records_may_be_of_any_structure(space, backend):
    test = ComponentTest(ReplayMemory(5), {"records": space}, backend)
    test.call("insert", space.sample(0, 4))
    assert space.contains(test.call("sample", 3)[0])


@pytest.mark.parametrize(
    ("size", "space", "error", "message"),
    [
        (5, Dict(a=Box((3,)), b=Box(ranks="")), SpaceError, "`records/b` is .*ranks='B'"),
        (5, Dict(a=Box((3,), ranks="BT")), SpaceError, "`records/a` is .*ranks='B'"),
        (5, Box((3,), ranks=""), SpaceError, "`records` is .*come in batches"),
        (5, Box((8, 3), ranks=""), SpaceError, "an insert of 8 records into a memory of 5"),
        (0, FloatBox(), ComponentError, "replay-memory: buffer_size must be at least 1, got 0"),
        (5, Dict(size=FloatBox()), SpaceError, "a key 'size', which names a counter"),
    ],
)
def test_records_that_can_not_be_kept_are_refused(size, space, error, message):
    with pytest.raises(error, match=message):
        ComponentTest(ReplayMemory(size), {"records": space})


def test_a_memory_larger_than_the_machine_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=2_000_000_000))
    frames = Dict(states=Box((84, 84, 4), "uint8"), rewards=FloatBox())
    message = r"100,000 records of 28,228 bytes need 2.8 GB, but 2.0 GB are free. Lower buffer_size"
    with pytest.raises(BuildError, match=message):
        ComponentTest(ReplayMemory(100_000), {"records": frames})


@pytest.mark.parametrize(
    ("memory", "api"),
    [
        (ReplayMemory(8), "sample"),
        (PrioritizedReplay(8), "sample"),
        (RingBuffer(8), "get_records"),
        (RingBuffer(8), "get_episodes"),
        (FIFOQueue(8), "get"),
        (FrameReplay(16, num_envs=1), "sample"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_records_come_out_with_the_bounds_that_they_went_in_with(memory, api):
    stacks = Box((2, 3), "uint8", low=0, high=200)
    space = Dict(states=stacks, next_states=stacks, actions=IntBox(5), terminals=BoolBox())
    records = space
    if isinstance(memory, FrameReplay):
        steps = {**space, "rewards": FloatBox(), "truncations": BoolBox()}
        parts = Frames(1, 3, FloatBox()).spaces(steps)["insert.records"]
        records = Dict({name: part for name, part in parts.items() if name != "rewards"})
    names = {p.name for m in memory.api_methods().values() for p in m.parameters}
    given = {"keys": IntBox(), "td_errors": FloatBox()}
    executor = ComponentTest(
        memory, {"records": records, **{n: s for n, s in given.items() if n in names}}
    ).executor
    found = executor.output_space(api, 4)
    assert (found[0] if isinstance(found, tuple) else found) == space
