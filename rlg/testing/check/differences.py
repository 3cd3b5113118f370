"""How far two results are apart, and whether one lies in the space that the build found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.graph.spaces import Space, flatten, path_name
from rlg.testing.check.report import Error


def difference(one: Any, other: Any, tolerance: float) -> tuple[Error, str | None]:
    """The error over all leaves, and what to say about the worst one if they are not equal.

    Floats may differ by `tolerance`, absolute plus relative; everything else is equal or not.
    """
    if one is None or other is None:
        return Error(), None if one is other else "one of them gives nothing"
    first, second = flatten(one), flatten(other)
    if first.keys() != second.keys():
        return Error(np.inf, np.inf), f"leaves are {_names(first)} and {_names(second)}"
    error, said, worst = Error(), None, 0.0
    for path, value in first.items():
        found, reason = leaf_difference(value, second[path], tolerance)
        error.widen(found)
        if reason is not None and (said is None or found.relative > worst):
            worst, name = found.relative, path_name(path)
            said = f"`{name}` {reason}" if name else reason
    return error, said


def leaf_difference(one: Any, other: Any, tolerance: float) -> tuple[Error, str | None]:
    """The same for two arrays."""
    a, b = np.asarray(one), np.asarray(other)
    reason = None
    if a.shape != b.shape:
        reason = f"has shapes {a.shape} and {b.shape}"
    elif a.dtype != b.dtype:
        reason = f"has dtypes {a.dtype} and {b.dtype}"
    elif a.dtype.kind == "f" and not np.array_equal(_extremes(a), _extremes(b), equal_nan=True):
        reason = "has infinities, or numbers that are none, in other places"
    if reason is not None:
        return Error(np.inf, np.inf), reason
    if a.dtype.kind == "f":
        finite = np.isfinite(a)
        return _float_difference(a[finite], b[finite], tolerance)
    wrong = int(np.count_nonzero(a != b))
    error = Error(float(wrong > 0), float(wrong > 0))
    return error, f"differs in {wrong} of {a.size} values" if wrong else None


def _extremes(array: NDArray[Any]) -> NDArray[Any]:
    """Infinities and NaN; 0 everywhere else."""
    return np.where(np.isfinite(array), 0.0, array)


def _float_difference(
    one: NDArray[Any], other: NDArray[Any], tolerance: float
) -> tuple[Error, str | None]:
    x, y = one.astype("float64"), other.astype("float64")
    if not x.size:
        return Error(), None
    apart = np.abs(x - y)
    scale = max(float(np.abs(x).max()), float(np.abs(y).max()))
    error = Error(float(apart.max()), float(apart.max()) / scale if scale else 0.0)
    if (apart <= tolerance * (1.0 + np.abs(y))).all():
        return error, None
    worst = int(np.argmax(apart))
    return error, f"differs by {apart[worst]:.2g} ({x[worst]:.6g} and {y[worst]:.6g})"


def misfit(space: Space, outputs: Any) -> str | None:
    """Why outputs don't lie in their space: shape, bounds, dtype, numbers that are none."""
    reason = space.why_not(outputs)
    if reason is not None:
        return reason
    boxes = space.flatten()
    for path, value in flatten(outputs).items():
        array, name = np.asarray(value), path_name(path)
        where = f"{name}: " if name else ""
        if array.dtype != boxes[path].dtype:
            return f"{where}dtype is {array.dtype}, should be {boxes[path].dtype}"
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            return f"{where}holds numbers that are not finite"
    return None


def _names(leaves: Any) -> str:
    return ", ".join(path_name(path) or "one value" for path in leaves)
