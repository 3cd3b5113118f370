"""Prioritized replay: what is drawn, weighed, updated, refused, saved, and put into a learner."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest
from cpprb import PrioritizedReplayBuffer
from hypothesis import given
from hypothesis import strategies as st

from rlg.bench.running import Settings
from rlg.bench.suites import memory as replay
from rlg.errors import BuildError, ComponentError, ExecutionError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.memories.prioritized import PrioritizedReplay
from rlg.graph.components.memories.priority_tree import EMPTY, PriorityTree
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest

RECORDS = Dict(states=Box((2,)), b=Dict(ba=IntBox(99), bb=BoolBox()))
SPACES = {
    "records": RECORDS,
    "priorities": FloatBox(),
    "td_errors": FloatBox(),
    "keys": IntBox(),
    "beta": FloatBox(ranks=""),
}


def records(first, n):
    numbers = np.arange(first, first + n)
    return {
        "states": np.stack([numbers, -numbers], -1).astype("float32"),
        "b": {"ba": numbers, "bb": numbers % 2 == 0},
    }


def made(backend="numpy", capacity=8, **options):
    return ComponentTest(PrioritizedReplay(capacity, **options), SPACES, backend)


def leaves(test):
    sums = test.read("tree/sums")
    return sums[len(sums) // 2 :]


def test_records_are_drawn_whole_and_in_proportion_to_their_priorities(backend):
    test = made(backend, alpha=0.5, epsilon=1e-9)
    test.call("insert", records(10, 4), np.float32([1, -4, 9, 16]))
    np.testing.assert_allclose(leaves(test), [1, 2, 3, 4, 0, 0, 0, 0], rtol=1e-6)
    sample, rows, weights = test.call("sample", 1000, np.float32(0.5))
    # One draw from each thousandth: 1, 2, 3 and 4 tenths but for those on the borders.
    np.testing.assert_allclose(np.bincount(rows), [100, 200, 300, 400], atol=1)
    np.testing.assert_array_equal(rows, np.sort(rows))
    np.testing.assert_array_equal(sample["b"]["ba"], rows + 10)
    np.testing.assert_array_equal(sample["states"][:, 1], -(rows + 10))
    # (N * P)^-0.5 over the rarest record's: (1/1, 1/2, 1/3, 1/4)^0.5.
    np.testing.assert_allclose(weights, np.array([1, 0.70710678, 0.57735027, 0.5])[rows], rtol=1e-5)
    assert weights.dtype == np.float32


def test_the_largest_weight_is_that_of_the_whole_memory(backend):
    test = made(backend, alpha=1.0, beta=1.0, epsilon=1e-9)
    test.call("insert", records(0, 3), np.float32([1e-3, 1, 1]))
    _, rows, weights = test.call("sample", 2)
    np.testing.assert_array_equal(rows, [1, 2])
    np.testing.assert_allclose(weights, [1e-3, 1e-3], rtol=1e-4)


def test_new_records_get_the_largest_priority_so_far_and_are_sampled(backend):
    test = made(backend, alpha=0.5, epsilon=1e-9)
    test.call("insert", records(0, 3))
    test.call("update", [1], np.float32([-16]))
    test.call("update", [1], np.float32([0.25]))
    test.call("insert", records(3, 1))
    np.testing.assert_allclose(leaves(test)[:5], [1, 0.5, 1, 4, 0], rtol=1e-6)
    assert set(test.call("sample", 100)[1]) == {0, 1, 2, 3}


def test_of_equal_rows_the_last_update_stays_and_rows_without_a_record_stay_empty(backend):
    test = made(backend, alpha=1.0, epsilon=1e-9)
    test.call("insert", records(0, 2))
    test.call("update", [1, 0, 1, 5], np.float32([9, 3, 2, 7]))
    np.testing.assert_allclose(leaves(test), [3, 2, 0, 0, 0, 0, 0, 0], rtol=1e-6)


def test_errors_that_arrive_after_their_record_was_overwritten_are_ignored(backend):
    test = made(backend, capacity=3, alpha=1.0, epsilon=1e-9)
    test.call("insert", records(0, 3))
    assert test.call("update", [0, 1, 2], np.float32([5, 6, 7])) == 0
    test.call("insert", records(3, 2), np.float32([1, 2]))  # Rows 0 and 1 are others' now.
    _, keys, _ = test.call("sample", 60)
    assert set(keys.tolist()) == {3, 4, 2}
    assert test.call("update", [0, 2, 1, 4], np.float32([90, 4, 99, 3])) == 2
    np.testing.assert_allclose(leaves(test)[:3], [1, 3, 4], rtol=1e-6)
    assert test.read("max_priority") == 7
    for first in (5, 6, 7, 8):
        test.call("insert", records(first, 1), np.float32([1]))
    assert test.call("update", [0, 1, 2, 3, 4, 5], np.full(6, 50.0, "float32")) == 6
    np.testing.assert_allclose(leaves(test)[:3], [1, 1, 1], rtol=1e-6)
    assert test.read("max_priority") == 7


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([0, 4, 0], [1, 9, 2]),  # The stale one comes last.
        ([4, 1, 4], [1, 3, 2]),  # A stale one of the same row stands between equal keys.
        ([4, 4, 0], [1, 3, 2]),  # Of equal keys the last one stays, whatever comes behind them.
        ([1, 4, 2], [1, 9, 3]),
        ([5, 0, 1], [1, 1, 9]),
    ],
)
def test_stale_keys_leave_the_others_of_the_same_call_alone(keys, expected):
    test = made("numpy", capacity=3, alpha=1.0, epsilon=1e-9)
    test.call("insert", records(0, 3), np.float32([1, 1, 2]))
    test.call("insert", records(3, 2), np.float32([1, 1]))
    if 5 in keys:
        test.call("insert", records(5, 1), np.float32([1]))
    errors = {4: [9.0, 3.0], 2: [3.0], 5: [9.0]}
    given = [errors[k].pop(0) if k in errors else 77.0 for k in keys]
    test.call("update", keys, np.float32(given))
    np.testing.assert_allclose(leaves(test)[:3], expected, rtol=1e-6)


def test_td_errors_that_are_no_numbers_count_as_the_largest_so_far(backend):
    test = made(backend, alpha=1.0, epsilon=1e-9)
    test.call("insert", records(0, 4))
    test.call("update", [0, 1, 2, 3], np.float32([np.nan, np.inf, 0.5, -np.inf]))
    np.testing.assert_allclose(leaves(test)[:4], [1, 1, 0.5, 1], rtol=1e-6)
    assert test.read("max_priority") == 1


def test_when_full_the_oldest_go_with_their_priorities(backend):
    test = made(backend, capacity=5, alpha=1.0, epsilon=1e-9)
    test.call("insert", records(0, 4), np.float32([1, 2, 3, 4]))
    test.call("insert", records(4, 3), np.float32([5, 6, 7]))
    np.testing.assert_allclose(leaves(test), [6, 7, 3, 4, 5, 0, 0, 0], rtol=1e-6)
    assert test.call("size") == 5
    assert set(test.call("sample", 200)[0]["b"]["ba"]) == {2, 3, 4, 5, 6}


def test_a_zero_td_error_can_still_be_sampled(backend):
    test = made(backend, alpha=1.0, epsilon=0.5)
    test.call("insert", records(0, 2), np.float32([0, 0]))
    assert set(test.call("sample", 4)[1]) == {0, 1}


def test_an_empty_memory_is_not_sampled(backend):
    test = made(backend)
    with pytest.raises(ExecutionError, match=r"prioritized-replay.sample: the memory is empty"):
        test.call("sample", 2)
    test.call("insert", records(0, 1))
    np.testing.assert_array_equal(test.call("sample", 2)[1], [0, 0])


def test_a_restored_memory_goes_on_exactly(backend):
    test = made(backend)
    test.call("insert", records(0, 7), np.float32([1, 5, 2, 4, 3, 7, 6]))
    state = test.executor.get_state()

    def goes_on(one):
        rows = one.call("sample", 5)[1]
        one.call("update", rows, np.arange(5, dtype="float32"))
        one.call("insert", records(7, 3))
        return one.call("sample", 9, np.float32(0.7))

    first = goes_on(test)
    other = made("numpy")
    other.executor.set_state(state)
    second = goes_on(other)
    np.testing.assert_array_equal(first[1], second[1])
    np.testing.assert_array_equal(first[2], second[2])
    np.testing.assert_array_equal(leaves(test), leaves(other))


class Learner(Component):
    """Samples, takes a gradient-free step on the backend's tensors, and updates: one plan."""

    def __init__(self) -> None:
        self.memory = PrioritizedReplay(8, alpha=1.0, epsilon=1e-9)

    @api
    def observe(self, records: Any) -> None:
        self.memory.insert(records)

    @api
    def learn(self, n: int, beta: Any) -> Any:
        sample, rows, weights = self.memory.sample(n, beta)
        td_errors = self.errors(sample["states"], weights)
        self.memory.update(rows, td_errors)
        return rows, td_errors

    @graph_fn
    def errors(self, states: Tensor, weights: Tensor) -> Tensor:
        return weights * self.ops.sum(self.ops.square(states), -1)


Learner.learn.__annotations__["n"] = "Size"


@pytest.mark.parametrize("define_by_run", [False, True])
def test_a_memory_is_a_host_step_of_larger_plans(backend, define_by_run):
    if define_by_run and backend == "tf-graph":
        return
    spaces = {"records": RECORDS, "beta": FloatBox(ranks="")}
    test = ComponentTest(Learner(), spaces, backend, define_by_run=define_by_run)
    with pytest.raises(ExecutionError, match="memory is empty"):
        test.call("learn", 3, np.float32(1))
    test.call("observe", records(1, 3))
    rows, td_errors = test.call("learn", 3, np.float32(1))
    np.testing.assert_array_equal(rows, [0, 1, 2])
    np.testing.assert_allclose(td_errors, [2, 8, 18])
    np.testing.assert_allclose(test.read("memory/tree/sums")[8:12], [2, 8, 18, 0], rtol=1e-6)
    rows, _ = test.call("learn", 4, np.float32(1))
    # Quarters of 28: rows 0 and 1 end at 10, so the upper half is all row 2.
    np.testing.assert_array_equal(rows[2:], [2, 2])
    assert rows[0] < 2
    assert rows[1] > 0


class Loop(Component):
    """Samples in every step of a loop."""

    def __init__(self) -> None:
        self.memory = PrioritizedReplay(8)

    @api
    def observe(self, records: Any) -> None:
        self.memory.insert(records)

    @api
    def epochs(self, start: Any, steps: Any) -> Any:
        return self.scan(self.epoch, start, steps)

    @api
    def epoch(self, carry: Any, x: Any) -> Any:
        sample, rows, _ = self.memory.sample(3)
        return self.last(carry, x), (sample["b"]["ba"], rows)

    @graph_fn
    def last(self, carry: Tensor, x: Tensor) -> Tensor:
        return x + 0.0 * carry


@pytest.mark.parametrize("define_by_run", [False, True])
def test_a_memory_may_be_sampled_inside_of_a_loop(backend, define_by_run):
    if define_by_run and backend == "tf-graph":
        return
    spaces = {
        "records": RECORDS,
        "start": FloatBox(ranks=""),
        "steps": FloatBox(ranks="T"),
        "carry": FloatBox(ranks=""),
        "x": FloatBox(ranks=""),
    }
    test = ComponentTest(Loop(), spaces, backend, define_by_run=define_by_run)
    test.call("observe", records(10, 6))
    last, (numbers, rows) = test.call("epochs", np.float32(0), np.arange(4, dtype="float32"))
    assert last == 3
    np.testing.assert_array_equal(numbers, rows + 10)
    assert rows.shape == (4, 3)
    one = ComponentTest(Loop(), spaces, "numpy")
    one.call("observe", records(10, 6))
    singly = [one.call("epoch", np.float32(0), np.float32(0))[1][1] for _ in range(4)]
    np.testing.assert_array_equal(rows, singly)


def test_the_benchmark_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cpprb", None)
    row = replay.row("small", "numpy", 100, Settings(pairs=1))
    assert row.missing.startswith("cpprb is missing: pip install 'rlgraph-next[peers]'")
    assert row.costs == ()


def test_the_benchmarks_cycle_runs():
    ours = replay.make_ours(PrioritizedReplay(200), replay.SMALL, "numpy", 200)
    kept = replay.fill(lambda r, p: ours.execute("insert", r, p), replay.SMALL, 200, 100)
    replay.our_cycle(ours, kept)()
    assert ours.execute("size") == 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1}, "alpha is -1"),
        ({"beta": -0.5}, "beta -0.5"),
        ({"epsilon": 0.0}, "a priority of 0 is never sampled"),
        ({"capacity": 0}, "buffer_size must be at least 1, got 0"),
    ],
)
def test_settings_that_can_not_work_are_refused(options, message):
    with pytest.raises(ComponentError, match=message):
        made(**options)


@pytest.mark.parametrize("name", ["max_priority", "tree", "size"])
def test_columns_can_not_have_the_memorys_own_names(name):
    spaces = {**SPACES, "records": Dict({name: FloatBox()})}
    with pytest.raises(SpaceError, match=f"a key '{name}'"):
        ComponentTest(PrioritizedReplay(4), spaces)


def test_a_memory_larger_than_the_machine_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1000))
    with pytest.raises(BuildError, match=r"1,000 records of 17 bytes need .* Lower buffer_size"):
        made(capacity=1000)


RANGES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def six():
    numbers, rows = FloatBox(), IntBox()
    spaces = {"rows": rows, "priorities": numbers, "prefixes": numbers, "start": rows, "stop": rows}
    return ComponentTest(PriorityTree(6), spaces)


@given(values=st.lists(st.floats(0, 50, width=32), min_size=6, max_size=6), ranges=RANGES)
def test_sums_and_minima_over_ranges_equal_those_of_slices(six, values, ranges):
    array = np.float32(values).astype("float64")
    six.call("set", np.arange(6), np.float32(values))
    starts, stops = (np.array(column) for column in zip(*ranges, strict=True))
    sums, mins = six.call("sum", starts, stops), six.call("min", starts, stops)
    for start, stop, total, least in zip(starts, stops, sums, mins, strict=True):
        part = array[start:stop]
        np.testing.assert_allclose(total, part.sum(), rtol=1e-9)
        assert least == min(part[part > 0], default=EMPTY)
    np.testing.assert_allclose(six.call("sum", [0])[0], six.call("total"), rtol=1e-12)
    assert six.call("least") == min(array[array > 0], default=EMPTY)
    np.testing.assert_array_equal(six.call("get", np.arange(6)), array)


def test_probabilities_and_weights_are_cpprbs():
    given_, alpha, beta = np.float32([0.5, 1, 2, 4]), 0.6, 0.4
    test = made(alpha=alpha, beta=beta)
    test.call("insert", records(0, 4), given_)
    probabilities = leaves(test)[:4] / leaves(test).sum()
    # Powers 0.659754, 1, 1.515717, 2.297397 over their sum 5.472868.
    expected = [0.120550, 0.182720, 0.276951, 0.419779]
    np.testing.assert_allclose(probabilities, expected, rtol=1e-4)
    weights = dict(zip(*test.call("sample", 400)[1:], strict=True))
    np.testing.assert_allclose([weights[row] for row in range(4)],
                               [1, 0.84674531, 0.71697762, 0.60709744], rtol=1e-4)  # fmt: skip
    theirs = PrioritizedReplayBuffer(8, {"x": {}}, alpha=alpha, eps=1e-6)
    theirs.add(x=np.arange(4), priorities=given_)
    sample = theirs.sample(4000, beta=beta)
    other = dict(zip(sample["indexes"], sample["weights"], strict=True))
    np.testing.assert_allclose([weights[r] for r in range(4)], [other[r] for r in range(4)], 1e-4)
    share = np.bincount(sample["indexes"], minlength=4) / 4000
    np.testing.assert_allclose(share, probabilities, atol=0.03)


@pytest.mark.parametrize("alpha", [0.5, 0.0])
def test_what_is_exported_comes_in_order_with_its_errors(alpha):
    test = made(capacity=8, alpha=alpha)
    for first in range(0, 12, 3):  # Four records are overwritten.
        test.call("insert", records(first, 3), np.float32([1, 2, 3]) + first)
    found = list(test.component.export(chunk=3))
    assert len(found) == 3
    numbers = np.concatenate([chunk["b"]["ba"] for chunk, _ in found])
    assert numbers.tolist() == list(range(4, 12))
    errors = np.concatenate([errors for _, errors in found])
    expected = numbers // 3 * 3 + numbers % 3 + 1 if alpha else np.ones(8)
    np.testing.assert_allclose(errors, expected, rtol=1e-5)
