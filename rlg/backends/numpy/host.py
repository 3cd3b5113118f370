"""Calls into Python on numpy values, with the results checked against what was declared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.errors import BackendError

# (dtype, static shape) of one result; None where a size isn't known.
Output = tuple[str, Sequence[int | None]]


def call(
    fn: Callable[..., Any], args: Sequence[NDArray[Any]], outputs: Sequence[Output]
) -> tuple[NDArray[Any], ...]:
    """The results of `fn(*args)` as arrays of the declared dtypes; one result needs no tuple."""
    result = fn(*args)
    if not outputs:
        return ()
    results = result if isinstance(result, (tuple, list)) else (result,)
    if len(results) != len(outputs):
        raise BackendError(
            f"host function {_name(fn)} returned {len(results)} results, but {len(outputs)} are "
            "declared."
        )
    return tuple(
        _checked(fn, value, dtype, shape)
        for value, (dtype, shape) in zip(results, outputs, strict=True)
    )


def _checked(
    fn: Callable[..., Any], value: Any, dtype: str, shape: Sequence[int | None]
) -> NDArray[Any]:
    array = np.asarray(value, dtype=dtype)
    if len(array.shape) != len(shape) or any(
        wanted not in (None, size) for size, wanted in zip(array.shape, shape, strict=True)
    ):
        raise BackendError(
            f"host function {_name(fn)} returned shape {array.shape}, {tuple(shape)} is declared."
        )
    return array


def _name(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__qualname__", repr(fn))
