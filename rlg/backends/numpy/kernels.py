"""Compiled kernels: priority trees set and searched level by level over the whole batch.

A tree of 2L float64 numbers has its root at 1 and its L leaves from L on. Walking one level for the
whole batch before the next keeps many memory reads in flight: half the time of one walk after the
other (measured at 100,000 leaves). numba is imported on first use; without it there is None.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

# The minimum of no priorities: finite, so that it saves and compares as any number.
EMPTY = float(np.finfo(np.float64).max)


class Kernels(NamedTuple):
    """Compiled functions on arrays."""

    # (sums, mins, rows, values, update): writes leaves in order and repairs what is above them.
    set: Callable[..., None]
    # (sums, prefixes) -> rows
    draw: Callable[..., Any]


@cache
def compiled() -> Kernels | None:
    """The kernels, compiled on first call and kept on disk where that is possible."""
    try:
        import numba
    except ImportError:
        return None
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return None
    return Kernels(*(_compile(numba, function) for function in (_set, _draw)))


def plain(array: Any) -> Any:
    """Itself, or a writable copy in C order: each kind of array would be compiled for again."""
    return array if array.flags.carray else np.array(array, order="C")


def _compile(numba: Any, function: Callable[..., Any]) -> Any:
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # There is no folder that a cache could be written to.
        return numba.njit(nogil=True)(function)


def _set(sums: Any, mins: Any, rows: Any, values: Any, update: bool) -> None:
    leaves = len(sums) // 2
    nodes = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        node = rows[i] + leaves
        if node < leaves or node >= 2 * leaves:  # Compiled code would write anywhere.
            raise IndexError("priority_set: a row lies outside of the tree.")
        if not update or sums[node] > 0.0:
            sums[node] = values[i]
            mins[node] = values[i] if values[i] > 0.0 else EMPTY
        nodes[i] = node
    count, level = len(rows), leaves
    while level > 1:
        level //= 2
        # Neighbours often have one parent (stratified draws are sorted): it is repaired once.
        kept, last = 0, np.int64(0)
        for i in range(count):
            node = nodes[i] // 2
            if node != last:
                nodes[kept] = last = node
                kept += 1
        count = kept
        for i in range(count):
            node = nodes[i]
            sums[node] = sums[2 * node] + sums[2 * node + 1]
            mins[node] = min(mins[2 * node], mins[2 * node + 1])


def _draw(sums: Any, prefixes: Any) -> Any:
    leaves = len(sums) // 2
    nodes = np.ones(len(prefixes), np.int64)
    rest = prefixes.copy()
    level = leaves
    while level > 1:
        level //= 2
        for i in range(len(nodes)):
            node = 2 * nodes[i]
            left = sums[node]
            # Never into an empty half, whatever rounding says.
            right = (rest[i] >= left) & (sums[node + 1] > 0.0)
            rest[i] -= left * right
            nodes[i] = node + right
    for i in range(len(nodes)):
        nodes[i] -= leaves
    return nodes
