"""Bounds of a Box in the one form that makes equal bounds equal values.

A bound is None, a Python number, or nested tuples of numbers. Floats are the shortest ones that
round to the Box's own dtype: 0.3 and `np.float32(0.3)` are the same bound.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlg.errors import SpaceError

Bound: TypeAlias = "int | float | tuple[Bound, ...]"

KINDS = {
    "float32": "float",
    "float64": "float",
    "float16": "float",
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "int",
    "uint8": "int",
    "bool": "bool",
}
DTYPES = tuple(KINDS)
LIMITS = {
    name: (int(np.iinfo(name).min), int(np.iinfo(name).max))
    for name, kind in KINDS.items()
    if kind == "int"
}
# From these on a number rounds to infinity; as integers, since float64's is no float64.
_OVERFLOW = {"float16": 65520, "float32": 2**128 - 2**103, "float64": 2**1024 - 2**970}
_SHOWN = 6  # numbers in a repr


def as_bound(side: str, bound: ArrayLike, shape: tuple[int, ...], dtype: str) -> Bound | None:
    """Checks a bound and returns its one form; `side` is "low" or "high"."""
    if KINDS[dtype] == "bool":
        raise SpaceError(f"A bool Box has no bounds, but {side} is {bound!r}. Leave it out.")
    form: Bound
    if type(bound) is int or type(bound) is float:
        form = _number(side, bound, dtype)
    else:
        form = _numbers(side, bound, shape, dtype)
    if isinstance(form, float) and math.isinf(form):
        return None
    return form


def as_numbers(side: str, bound: ArrayLike, dtype: str) -> NDArray[Any]:
    """The numbers of a bound as an array of their own dtype, or a refusal."""
    try:
        values = np.asarray(bound)
    except ValueError:  # ragged lists
        _refuse(side, bound, dtype)
    if values.dtype.kind not in ("iu" if KINDS[dtype] == "int" else "iuf"):
        _refuse(side, bound, dtype)
    return values


def check_order(low: Bound, high: Bound) -> None:
    if isinstance(low, tuple) or isinstance(high, tuple):
        ordered = bool(np.all(np.asarray(low) <= np.asarray(high)))
    else:
        ordered = low <= high
    if not ordered:
        raise SpaceError(
            f"Box low={show_bound(low)} is above high={show_bound(high)}; no value fits between."
        )


def show_bound(bound: Bound) -> str:
    if not isinstance(bound, tuple) or np.size(bound) <= _SHOWN:
        return repr(bound)
    values = np.asarray(bound)
    return f"<{values.size} values from {values.min()} to {values.max()}>"


def _numbers(side: str, bound: ArrayLike, shape: tuple[int, ...], dtype: str) -> Bound:
    values = as_numbers(side, bound, dtype)
    if values.shape not in ((), shape):
        raise SpaceError(
            f"Box {side} has shape {values.shape}, but the Box has {shape}. "
            "Give one number for all elements or one for each."
        )
    if (values == values.flat[0]).all():
        return _number(side, values.flat[0].item(), dtype)
    return _nest(side, values, dtype)


def _nest(side: str, values: NDArray[Any], dtype: str) -> tuple[Bound, ...]:
    if values.ndim == 1:
        return tuple([_number(side, number, dtype) for number in values.tolist()])
    return tuple([_nest(side, row, dtype) for row in values])


def _number(side: str, number: float, dtype: str) -> int | float:
    if KINDS[dtype] == "int":
        if not isinstance(number, int):
            _refuse(side, number, dtype)
        lowest, highest = LIMITS[dtype]
        if not lowest <= number <= highest:
            raise SpaceError(
                f"Box {side}={number} is outside of {dtype}, which goes from {lowest} to {highest}."
                " Take a wider dtype."
            )
        return number
    if number != number or number == (math.inf if side == "low" else -math.inf):
        raise SpaceError(f"Box {side} is {number}; give a number, or None for no bound.")
    if math.isfinite(number) and abs(number) >= _OVERFLOW[dtype]:
        raise SpaceError(
            f"Box {side}={number} is outside of {dtype}; give None for no bound, or a wider dtype."
        )
    return float(number) if dtype == "float64" else float(str(np.dtype(dtype).type(number)))


def _refuse(side: str, bound: object, dtype: str) -> NoReturn:
    wanted = "whole numbers" if KINDS[dtype] == "int" else "numbers"
    raise SpaceError(f"Box {side} is {bound!r}; {dtype} bounds are {wanted} or None.")
