"""Variables: arrays that are written in place, 0-d ones too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def uniform_value(value: NDArray[Any]) -> Any | None:
    """The one number of a broadcast scalar (all strides zero), None for other arrays."""
    if value.size > 1 and not any(value.strides):
        return value[(0,) * value.ndim]
    return None


def fresh(value: NDArray[Any]) -> NDArray[Any]:
    """A writable C-ordered copy; of broadcast zeros it touches no memory until they are written."""
    number = uniform_value(value)
    if number is None:
        return np.array(value, order="C")
    return np.full(value.shape, number) if number else np.zeros(value.shape, value.dtype)


class OneByOne:
    """Variables of this process are overwritten one after the other."""

    def assign_all(self: Any, variables: Sequence[Any], values: Sequence[Any]) -> None:
        for variable, value in zip(variables, values, strict=True):
            self.assign(variable, value)


class NumpyState(OneByOne):
    """Reading and writing variables."""

    def variable(
        self,
        value: NDArray[Any],
        *,
        trainable: bool = False,
        layout: str | None = None,
        like: NDArray[Any] | None = None,
        path: str = "variable",
    ) -> NDArray[Any]:
        return fresh(np.asarray(value))

    @staticmethod
    def assign(variable: NDArray[Any], value: Any) -> None:
        variable[...] = value

    @staticmethod
    def assign_add(variable: NDArray[Any], value: Any) -> None:
        np.add(variable, value, out=variable)

    @staticmethod
    def scatter_rows(variable: NDArray[Any], rows: NDArray[Any], values: Any) -> None:
        variable[rows] = values

    value_of = staticmethod(np.copy)
