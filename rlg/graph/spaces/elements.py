"""Values of one Box: how they are drawn, and why a given one doesn't fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rlg.graph.spaces.bounds import KINDS, LIMITS
from rlg.graph.spaces.space import Path, Sizes, path_name

if TYPE_CHECKING:
    from rlg.graph.spaces.box import Box

_KIND_OF = {"f": "float", "i": "int", "u": "int", "b": "bool"}  # by numpy's letters


def draw(box: Box, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[Any]:
    if box.kind == "bool":
        return np.asarray(rng.integers(0, 2, size, dtype="int8"), bool)
    if box.kind == "int":
        lowest, highest = LIMITS[box.dtype]
        low = lowest if box.low is None else box.low
        high = highest if box.high is None else box.high
        return np.asarray(rng.integers(low, high, size, dtype=box.dtype, endpoint=True))
    values = _draw_floats(rng, *_float_bounds(box), size)
    largest = np.finfo(box.dtype).max  # the tail beside a single huge bound must stay finite
    return np.asarray(np.clip(values, -largest, largest), box.dtype)


def _draw_floats(
    rng: np.random.Generator, low: NDArray[Any], high: NDArray[Any], size: tuple[int, ...]
) -> NDArray[Any]:
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    below, above = np.where(has_low, low, 0.0), np.where(has_high, high, 0.0)
    values = np.zeros(size)
    if np.any(has_low & has_high):
        share = rng.random(size)
        # Not low + share * (high - low): the difference may be infinite.
        values = below * (1.0 - share) + above * share
    if not np.all(has_low & has_high):
        if np.any(has_low ^ has_high):
            tail = rng.exponential(size=size)
            values = np.where(has_low & ~has_high, below + tail, values)
            values = np.where(has_high & ~has_low, above - tail, values)
        if not np.all(has_low | has_high):
            values = np.where(has_low | has_high, values, rng.standard_normal(size))
    return np.asarray(np.clip(values, low, high))


def misfit(box: Box, value: object, path: Path, sizes: Sizes) -> str | None:
    """Says why `value` isn't in `box`; notes the sizes of its ranks, and compares them."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):  # ragged lists; tensors on devices or in graphs
        return f"type is {type(value).__name__}, which numpy can't read as an array"
    kind = _KIND_OF.get(array.dtype.kind)
    if kind is None:
        return f"type is {type(value).__name__}, should be an array of {box.dtype}"
    if kind != KINDS[box.dtype]:
        return f"dtype is {array.dtype}, should be {box.dtype}"
    return _shape_misfit(box, array.shape, path, sizes) or _bounds_misfit(box, array)


def _shape_misfit(box: Box, shape: tuple[int, ...], path: Path, sizes: Sizes) -> str | None:
    n = len(box.ranks)
    if len(shape) != n + len(box.shape) or shape[n:] != box.shape:
        wanted = ", ".join([*box.ranks, *map(str, box.shape)])
        comma = "," if n + len(box.shape) == 1 else ""
        return f"shape is {shape}, should be ({wanted}{comma})"
    for rank, size in zip(box.ranks, shape, strict=False):
        known, other = sizes.setdefault(rank, (size, path))
        if known != size:
            return f"{rank} is {size}, but {known} in {path_name(other)}"
    return None


def _bounds_misfit(box: Box, array: NDArray[Any]) -> str | None:
    low: Any
    high: Any
    if box.kind == "bool":
        return None
    if box.kind == "int":
        if box.low is None and box.high is None and array.dtype == box.dtype:
            return None
        lowest, highest = LIMITS[box.dtype]
        low = lowest if box.low is None else np.asarray(box.low)
        high = highest if box.high is None else np.asarray(box.high)
    else:
        # Compared as the Box's dtype holds them: 0.3 isn't above np.float32(0.3), nor below.
        with np.errstate(over="ignore"):
            array = np.asarray(array, box.dtype)
        if np.isnan(array).any():
            return f"holds nan{_position(np.isnan(array))}"
        low, high = (bound.astype(box.dtype) for bound in _float_bounds(box))
    for wrong, side, bound in (
        (array < low, "below low", low),
        (array > high, "above high", high),
    ):
        if wrong.any():
            first = tuple(np.argwhere(wrong)[0])
            limit = np.broadcast_to(bound, array.shape)[first]
            return f"holds {array[first]}{_position(wrong)}, {side}={limit}"
    return None


def _position(wrong: NDArray[np.bool_]) -> str:
    return f" at {np.argwhere(wrong)[0].tolist()}" if wrong.ndim else ""


def _float_bounds(box: Box) -> tuple[NDArray[Any], NDArray[Any]]:
    low = -np.inf if box.low is None else box.low
    high = np.inf if box.high is None else box.high
    return np.asarray(low, "float64"), np.asarray(high, "float64")
