"""The way in: numpy arguments are checked against their spaces before a plan sees them.

Arrays that fit pass untouched; lists, scalars and arrays of a narrower or wider dtype of the same
kind are converted; everything else is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rlg.errors import ExecutionError
from rlg.graph.spaces import Box, Dict, Space, Tuple

Check = Callable[[Any], Any]


def make_check(where: str, name: str, space: Space) -> Check:
    """A function that returns the value as arrays of exactly the space's dtypes, or refuses it."""
    if isinstance(space, Dict):
        return _dict_check(where, name, space)
    if isinstance(space, Tuple):
        return _tuple_check(where, name, space)
    assert isinstance(space, Box)
    return _box_check(where, name, space)


def _box_check(where: str, name: str, space: Box) -> Check:
    dtype, lead, shape = np.dtype(space.dtype), len(space.ranks), space.shape
    ndim, array_type = lead + len(shape), np.ndarray

    def check(value: Any) -> Any:
        if (
            type(value) is array_type
            and value.dtype == dtype
            and value.ndim == ndim
            and value.shape[lead:] == shape
        ):
            return value
        return _converted(where, name, space, dtype, value)

    return check


def _converted(where: str, name: str, space: Box, dtype: np.dtype[Any], value: Any) -> Any:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ExecutionError(
            f"{where}: `{name}` is not an array: {error}. It takes {space}."
        ) from None
    lead = len(space.ranks)
    if array.ndim != lead + len(space.shape) or array.shape[lead:] != space.shape:
        axes = ", ".join([*space.ranks, *map(str, space.shape)])
        raise ExecutionError(
            f"{where}: `{name}` has shape {array.shape}, but it takes [{axes}] ({space}). "
            "Add or drop the leading axes, or build with another space."
        )
    if array.dtype != dtype:
        are_integers = array.dtype.kind in "iu" and dtype.kind in "iu"
        fits = (
            _holds_integers(array, dtype)
            if are_integers
            else np.can_cast(array.dtype, dtype, "same_kind")
        )
        if not fits:
            raise ExecutionError(
                f"{where}: `{name}` is {array.dtype}, but it takes {dtype}. Convert it first, as "
                f"in {name}.astype('{dtype}')."
            )
        array = array.astype(dtype)
    return array


def _holds_integers(array: Any, dtype: np.dtype[Any]) -> bool:
    """Python ints arrive as int64: fine for narrower or unsigned dtypes that can hold them."""
    if array.dtype.kind not in "iu" or dtype.kind not in "iu":
        return False
    if array.size == 0:
        return True
    limits = np.iinfo(dtype)
    return bool(array.min() >= limits.min and array.max() <= limits.max)


def _dict_check(where: str, name: str, space: Dict) -> Check:
    checks = {key: make_check(where, f"{name}/{key}", inner) for key, inner in space.items()}

    def check(value: Any) -> Any:
        if not isinstance(value, Mapping) or value.keys() != checks.keys():
            got = sorted(map(str, value)) if isinstance(value, Mapping) else type(value).__name__
            raise ExecutionError(
                f"{where}: `{name}` takes a dict with the keys {', '.join(checks)}; this is {got}."
            )
        return {key: one(value[key]) for key, one in checks.items()}

    return check


def _tuple_check(where: str, name: str, space: Tuple) -> Check:
    checks = [make_check(where, f"{name}/{index}", inner) for index, inner in enumerate(space)]

    def check(value: Any) -> Any:
        if not isinstance(value, (tuple, list)) or len(value) != len(checks):
            raise ExecutionError(
                f"{where}: `{name}` takes a tuple of {len(checks)}; this is {value!r}."
            )
        return tuple(one(item) for one, item in zip(checks, value, strict=True))

    return check
