"""Priority trees by nothing but the other operations: where no compiled kernel can run.

NumPy without numba, torch on other devices or while it compiles, and TensorFlow's graphs.
"""

from __future__ import annotations

from typing import Any

from rlg.graph.core.component.ops import EMPTY


def set_by_levels(
    ops: Any, sums: Any, mins: Any, rows: Any, values: Any, update: bool = False
) -> None:
    """Writes leaves and repairs one level after the other; equal parents get equal values."""
    leaves = ops.shape_of(sums)[0] // 2
    nodes = rows + leaves
    if update:
        values = ops.where(ops.take_rows(sums, nodes) > 0.0, values, ops.zeros_like(values))
    ops.scatter_rows(sums, nodes, values)
    ops.scatter_rows(mins, nodes, ops.where(values > 0.0, values, EMPTY * ops.ones_like(values)))
    for _ in range(leaves.bit_length() - 1):
        nodes = nodes // 2
        left, right = 2 * nodes, 2 * nodes + 1
        ops.scatter_rows(sums, nodes, ops.take_rows(sums, left) + ops.take_rows(sums, right))
        least = ops.minimum(ops.take_rows(mins, left), ops.take_rows(mins, right))
        ops.scatter_rows(mins, nodes, least)


def draw_by_levels(ops: Any, sums: Any, shares: Any) -> tuple[Any, Any]:
    """One leaf from each part of the total, and its priority."""
    count = ops.batch_size(shares)
    total = ops.take_rows(sums, ops.constant(1, "int64"))
    part = total / ops.sum(ops.ones_like(shares))
    rows = find_by_levels(ops, sums, (ops.cast(ops.arange(count), "float64") + shares) * part)
    return rows, ops.take_rows(sums, rows + ops.shape_of(sums)[0] // 2)


def find_by_levels(ops: Any, sums: Any, prefixes: Any) -> Any:
    """Walks down from the root, never into an empty half."""
    leaves = ops.shape_of(sums)[0] // 2
    nodes = ops.ones_like(ops.cast(prefixes, "int64"))
    for _ in range(leaves.bit_length() - 1):
        nodes = 2 * nodes
        left = ops.take_rows(sums, nodes)
        right = ops.logical_and(prefixes >= left, ops.take_rows(sums, nodes + 1) > 0.0)
        prefixes = ops.where(right, prefixes - left, prefixes)
        nodes = nodes + ops.cast(right, "int64")
    return nodes - leaves


def raise_by_parts(ops: Any, largest: Any, errors: Any, epsilon: float, alpha: float) -> Any:
    """Leaves from errors; one that is not a number counts as the largest so far."""
    sizes = ops.abs(ops.cast(errors, "float32")) + epsilon
    sizes = ops.where(ops.isfinite(sizes), sizes, largest)
    leaves = ops.cast(ops.power(sizes, alpha), "float64")
    ops.assign(largest, ops.maximum(largest, ops.max(sizes)))
    return leaves
