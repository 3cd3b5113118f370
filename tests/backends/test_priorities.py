"""Priority trees: against a naive one, with and without kernels, and what kernels must refuse."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rlg.backends import priorities
from rlg.backends.numpy import kernels
from rlg.backends.numpy.kernels import EMPTY
from rlg.backends.numpy.ops import NumpyOps
from rlg.backends.torch.ops import TorchOps
from rlg.errors import ExecutionError
from tests.backends.runners import run

LEAVES = 8
VALUES = st.floats(0.001, 100.0) | st.just(0.0)
SETS = st.lists(st.tuples(st.integers(0, LEAVES - 1), VALUES), min_size=1, max_size=20)


def naive(sets: list[tuple[int, float]]) -> np.ndarray:
    """Priorities one after the other, without a tree."""
    leaves = np.zeros(LEAVES)
    for row, value in sets:
        leaves[row] = value
    return leaves


def checked(sums: np.ndarray, mins: np.ndarray, leaves: np.ndarray) -> None:
    np.testing.assert_array_equal(sums[LEAVES:], leaves)
    some = leaves[leaves > 0]
    assert mins[1] == (some.min() if some.size else EMPTY)
    np.testing.assert_allclose(sums[1], leaves.sum(), rtol=1e-12)
    for node in range(1, LEAVES):
        assert sums[node] == sums[2 * node] + sums[2 * node + 1]
        assert mins[node] == min(mins[2 * node], mins[2 * node + 1])


def tree_of(ops: Any, sets: list[tuple[int, float]], batch: int) -> tuple[Any, Any]:
    sums, mins = ops.variable(np.zeros(2 * LEAVES)), ops.variable(np.full(2 * LEAVES, EMPTY))
    for start in range(0, len(sets), batch):
        rows, values = zip(*sets[start : start + batch], strict=True)
        ops.priority_set(
            sums, mins, ops.constant(list(rows), "int64"), ops.constant(list(values), "float64")
        )
    return sums, mins


@pytest.mark.parametrize("ops", [NumpyOps(), TorchOps()], ids=["numpy", "torch"])
@given(sets=SETS, batch=st.integers(1, 7), shares=st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_a_tree_equals_a_naive_one(ops, sets, batch, shares):
    leaves = naive(sets)
    sums, mins = tree_of(ops, sets, batch)
    checked(np.asarray(sums), np.asarray(mins), leaves)
    total = float(sums[1])
    if total == 0:
        return
    prefixes = np.array(shares) * total
    rows = np.asarray(ops.priority_find(sums, ops.constant(prefixes, "float64")))
    assert (leaves[rows] > 0).all()
    ends = np.cumsum(leaves)
    for prefix, row in zip(prefixes, rows, strict=True):
        slack = 1e-9 * total
        assert ends[row] - leaves[row] - slack <= prefix <= ends[row] + slack


@given(sets=SETS, batch=st.integers(1, 7), shares=st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_without_kernels_it_is_the_same_to_the_last_bit(sets, batch, shares):
    def plainly(ops: Any, v: Any, rows: Any, values: Any) -> Any:
        priorities.set_by_levels(ops, v["sums"], v["mins"], rows, values)
        return priorities.find_by_levels(ops, v["sums"], ops.constant(shares, "float64"))

    ops = NumpyOps()
    sums, mins = tree_of(ops, sets, batch)
    other = {"sums": np.zeros(2 * LEAVES), "mins": np.full(2 * LEAVES, EMPTY)}
    for start in range(0, len(sets), batch):
        rows, values = (
            np.array(column) for column in zip(*sets[start : start + batch], strict=True)
        )
        found = plainly(ops, other, rows, values)
    np.testing.assert_array_equal(other["sums"], sums)
    np.testing.assert_array_equal(other["mins"], mins)
    np.testing.assert_array_equal(found, ops.priority_find(sums, np.array(shares)))


def test_updates_draws_and_errors_without_kernels_are_the_same_too():
    ops = NumpyOps()
    trees = [tree_of(ops, [(0, 1.0), (2, 2.0), (5, 3.0)], 3) for _ in range(2)]
    rows, values = np.array([2, 3, 2, 5]), np.array([4.0, 7.0, 0.5, 6.0])
    ops.priority_set(*trees[0], rows, values, True)
    priorities.set_by_levels(ops, *trees[1], rows, values, True)
    for sums, mins in trees:
        checked(sums, mins, naive([(0, 1.0), (2, 0.5), (5, 6.0)]))  # 3 had no priority
    shares = np.array([0.7, 0.99, 0.01, 0.5])  # of 4 parts of 7.5
    for found in (
        ops.priority_draw(trees[0][0], shares),
        priorities.draw_by_levels(ops, trees[1][0], shares),
    ):
        np.testing.assert_array_equal(found, [[2, 5, 5, 5], [0.5, 6.0, 6.0, 6.0]])
    errors = np.float32([8.0, np.nan, -3.0, np.inf])  # no number: the largest before this call
    for way in (ops.priority_raise, partial(priorities.raise_by_parts, ops)):
        largest = np.array(3.0, "float32")
        np.testing.assert_array_equal(
            way(largest, errors, 1.0, 0.5), np.sqrt([9, 3, 4, 3], dtype="f")
        )
        assert largest == 9.0


def test_draws_come_in_proportion_to_priorities():
    """1, 2, 3, 4 of 10: the shares are literals."""
    ops = NumpyOps()
    sums, _ = tree_of(ops, [(0, 1.0), (2, 2.0), (5, 3.0), (7, 4.0)], 4)
    rows = ops.priority_find(sums, (np.arange(1000) + 0.5) / 100)
    np.testing.assert_array_equal(np.bincount(rows), [100, 0, 200, 0, 0, 300, 0, 400])


@pytest.mark.parametrize("row", [-1, LEAVES, 10**12])
def test_a_row_outside_of_the_tree_is_refused(row):
    sums, mins = np.zeros(2 * LEAVES), np.full(2 * LEAVES, EMPTY)
    with pytest.raises(IndexError, match="outside of the tree"):
        NumpyOps().priority_set(sums, mins, np.array([row]), np.ones(1))
    assert not sums.any()


def test_numba_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    kernels.compiled.cache_clear()
    try:
        assert kernels.compiled() is None
        for ops in (NumpyOps(), TorchOps()):
            sums, mins = tree_of(ops, [(1, 2.0), (6, 3.0), (1, 1.0)], 2)
            checked(np.asarray(sums), np.asarray(mins), naive([(1, 1.0), (6, 3.0)]))
            rows = ops.priority_find(sums, ops.constant([0.0, 0.9, 1.0, 3.9], "float64"))
            np.testing.assert_array_equal(np.asarray(rows), [1, 1, 6, 6])
    finally:
        monkeypatch.undo()
        kernels.compiled.cache_clear()


def test_without_a_folder_for_its_cache_numba_still_compiles():
    class Numba:
        @staticmethod
        def njit(**options):
            if options.pop("cache", False):
                raise RuntimeError("cannot cache function: no locator available")
            return lambda function: (function, options)

    assert kernels._compile(Numba, len) == (len, {"nogil": True})


def test_read_only_and_strided_arrays_are_taken():
    ops = NumpyOps()
    sums, mins = tree_of(ops, [(1, 2.0), (6, 3.0)], 2)
    rows, values = np.arange(6)[::-2], np.array([9.0, 8.0, 7.0])
    values.flags.writeable = False
    ops.priority_set(sums, mins, rows, values)
    np.testing.assert_array_equal(sums[LEAVES:], [0, 7, 0, 8, 0, 9, 3, 0])


def test_torch_notes_the_write_for_autograd():
    ops = TorchOps()
    sums, mins = tree_of(ops, [(1, 2.0)], 1)
    before = (sums._version, mins._version)
    ops.priority_set(sums, mins, torch.tensor([2]), torch.tensor([1.0], dtype=torch.float64))
    assert sums._version > before[0]
    assert mins._version > before[1]


def test_torch_compiles_it_by_levels():
    ops = TorchOps()
    sums, mins = tree_of(ops, [(1, 2.0), (6, 3.0)], 2)

    def function(rows: Any, values: Any, prefixes: Any) -> Any:
        ops.priority_set(sums, mins, rows, values)
        return ops.priority_find(sums, prefixes)

    compiled = torch.compile(function, backend="eager", fullgraph=True)
    prefixes = torch.tensor([0.5, 4.5], dtype=torch.float64)
    rows = compiled(torch.tensor([1]), torch.tensor([1.0], dtype=torch.float64), prefixes)
    np.testing.assert_array_equal(rows, [1, 6])
    checked(sums.numpy(), mins.numpy(), naive([(1, 1.0), (6, 3.0)]))


def test_what_is_required_and_missing_is_an_error(backend):
    def function(ops: Any, v: Any, x: Any) -> Any:
        ops.require(ops.sum(x) > 10.0, "the memory is empty.")
        return x * 1

    assert run(backend, function, [np.float32([20])])[0] == [20]
    if backend.startswith("tf"):  # Executors put the error back: see the memories' tests.
        from tensorflow import errors

        with pytest.raises(errors.OpError):
            run(backend, function, [np.float32([1])])
    else:
        with pytest.raises(ExecutionError, match="the memory is empty"):
            run(backend, function, [np.float32([1])])
