"""Compiled kernels: priority trees, set and searched level by level over the whole batch.

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

from rlg.graph.core.component.ops import EMPTY


class Kernels(NamedTuple):
    """Compiled functions on arrays."""

    # (sums, mins, rows, values, update): writes leaves in order and repairs what is above them.
    set: Callable[..., None]
    # (sums, places, is_share) -> rows and their leaves; shares of equal parts, or running sums.
    find: Callable[..., Any]
    # (largest, errors, epsilon, alpha) -> leaves
    raise_: Callable[..., Any]


@cache
def compiled() -> Kernels | None:
    """The kernels, compiled on first call and kept on disk where that is possible."""
    try:
        import numba
    except ImportError:
        return None
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return None
    return Kernels(*(_compile(numba, function) for function in (_set, _find, _raise)))


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
    lower = nodes.copy()  # Where the minimum changed: half as many, on each level, as below.
    count, changed, level = len(rows), len(rows), leaves
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
        kept = 0
        for i in range(changed):
            node = lower[i] // 2
            least = min(mins[2 * node], mins[2 * node + 1])
            lower[kept] = node
            kept += least != mins[node]
            mins[node] = least
        changed = kept


def _find(sums: Any, places: Any, is_share: bool) -> Any:
    leaves, count = len(sums) // 2, len(places)
    nodes = np.ones(count, np.int64)
    rest = places.copy()
    if is_share:
        part = sums[1] / count
        for i in range(count):
            rest[i] = (i + places[i]) * part
    level = 1
    while level < leaves:
        # Three levels at a time: a node and its rest are loaded and stored a third as often.
        steps = 0
        while steps < 3 and level < leaves:
            level *= 2
            steps += 1
        for i in range(count):
            node, left_over = nodes[i], rest[i]
            for _ in range(steps):
                node *= 2
                left = sums[node]
                # Never into an empty half, whatever rounding says.
                right = (left_over >= left) & (sums[node + 1] > 0.0)
                left_over -= left * right
                node += right
            nodes[i], rest[i] = node, left_over
    for i in range(count):
        rest[i] = sums[nodes[i]]
        nodes[i] -= leaves
    return nodes, rest


def _raise(largest: Any, errors: Any, epsilon: float, alpha: float) -> Any:
    before, small, exponent = largest[()], np.float32(epsilon), np.float32(alpha)
    leaves = np.empty(len(errors), np.float64)
    top = before
    for i in range(len(errors)):
        size = abs(errors[i]) + small
        size = size if np.isfinite(size) else before
        top = max(top, size)
        leaves[i] = size**exponent
    largest[()] = top
    return leaves
