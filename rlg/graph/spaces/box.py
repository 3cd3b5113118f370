"""The leaf of every space: tensors of one shape and dtype, and its three short constructors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlg.errors import SpaceError
from rlg.graph.spaces.bounds import (
    DTYPES,
    KINDS,
    Bound,
    as_bound,
    as_numbers,
    check_order,
    show_bound,
)
from rlg.graph.spaces.elements import draw, misfit
from rlg.graph.spaces.space import Path, Sizes, Space, check_ranks, leading, located


@dataclass(frozen=True, slots=True, repr=False)
class Box(Space):
    """Tensors of one dtype and value shape, with optional bounds and leading ranks.

    Bounds are inclusive on both sides, for integers too, and hold for all elements or (nested
    tuples of the Box's shape) for each. None is no bound; for integers, the end of the dtype.
    """

    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    low: Any = None  # Bound | None; arrays and lists are turned into it
    high: Any = None
    ranks: str = "B"

    def __post_init__(self) -> None:
        if self.shape or type(self.shape) is not tuple:
            object.__setattr__(self, "shape", _as_shape(self.shape))
        if type(self.dtype) is not str or self.dtype not in KINDS:
            raise SpaceError(f"Box dtype is {self.dtype!r}; use one of {', '.join(DTYPES)}.")
        check_ranks(self.ranks)
        if self.low is not None:
            object.__setattr__(self, "low", as_bound("low", self.low, self.shape, self.dtype))
        if self.high is not None:
            object.__setattr__(self, "high", as_bound("high", self.high, self.shape, self.dtype))
        if self.low is not None and self.high is not None:
            check_order(self.low, self.high)

    def __repr__(self) -> str:
        low = "" if self.low is None else f", low={show_bound(self.low)}"
        high = "" if self.high is None else f", high={show_bound(self.high)}"
        return f"Box(shape={self.shape}, dtype={self.dtype!r}{low}{high}, ranks={self.ranks!r})"

    @property
    def is_container(self) -> bool:
        return False

    @property
    def kind(self) -> str:
        """The kind of the dtype: "float", "int" or "bool"."""
        return KINDS[self.dtype]

    @property
    def flat_dim(self) -> int:
        return math.prod(self.shape)

    @property
    def num_categories(self) -> Bound | None:
        """Number of choices of an int Box that counts from 0, per element where they differ.

        None for every other Box, and for an int Box without bounds.
        """
        if self.kind != "int" or self.low != 0 or self.high is None:
            return None
        return _plus_one(self.high)

    def with_ranks(self, ranks: str) -> Box:
        check_ranks(ranks)
        if ranks == self.ranks:
            return self
        # Around the constructor: bounds per element would be checked again, number by number.
        box = object.__new__(Box)
        for name in ("shape", "dtype", "low", "high"):
            object.__setattr__(box, name, getattr(self, name))
        object.__setattr__(box, "ranks", ranks)
        return box

    def map(self, fn: Callable[[Box], Space]) -> Space:
        return fn(self)

    def like(self, other: Space) -> bool:
        return isinstance(other, Box) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def zeros(self, batch: int = 1, time: int = 1) -> NDArray[Any]:
        return np.zeros(leading(self.ranks, batch, time) + self.shape, self.dtype)

    def to_spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = {"type": "box", "shape": list(self.shape), "dtype": self.dtype}
        for side, bound in (("low", self.low), ("high", self.high)):
            if bound is not None:
                spec[side] = _plain(bound)
        return {**spec, "ranks": self.ranks}

    def _collect(self, path: Path, leaves: dict[Path, Box]) -> None:
        leaves[path] = self

    def _draw(self, rng: np.random.Generator, batch: int, time: int) -> NDArray[Any]:
        return draw(self, rng, leading(self.ranks, batch, time) + self.shape)

    def _misfit(self, value: object, path: Path, sizes: Sizes) -> str | None:
        reason = misfit(self, value, path, sizes)
        return None if reason is None else located(path, reason)


def FloatBox(  # noqa: N802 - reads as the class that it makes
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    shape: tuple[int, ...] = (),
    dtype: str = "float32",
    ranks: str = "B",
) -> Box:
    """A Box of floats between `low` and `high`, both included."""
    _check_kind("FloatBox", dtype, "float")
    return Box(shape, dtype, low, high, ranks)


def IntBox(  # noqa: N802
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    shape: tuple[int, ...] = (),
    dtype: str = "int64",
    ranks: str = "B",
) -> Box:
    """A Box of integers, counted as numpy does: `high` is excluded.

    `IntBox(3)` holds 0, 1, 2; `IntBox(1, 4)` holds 1, 2, 3 (its field `high` is 3); `IntBox()` all
    of its dtype. One number per element is the space of several choices: `IntBox([3, 5],
    shape=(2,))`.
    """
    _check_kind("IntBox", dtype, "int")
    if low is None and high is None:
        return Box(shape, dtype, None, None, ranks)
    if high is None:
        low, high = 0, low
    elif low is None:
        low = 0
    first, end = as_numbers("low", low, dtype), as_numbers("high", high, dtype)
    if np.any(end <= first):
        raise SpaceError(
            f"IntBox from {low!r} to {high!r} holds no value: high is excluded. "
            "Give a higher one, as in IntBox(0, 1), which holds 0."
        )
    return Box(shape, dtype, low, (end - 1).tolist(), ranks)


def BoolBox(shape: tuple[int, ...] = (), ranks: str = "B") -> Box:  # noqa: N802
    """A Box of booleans."""
    return Box(shape, "bool", None, None, ranks)


def _check_kind(constructor: str, dtype: str, kind: str) -> None:
    if KINDS.get(dtype) != kind:
        options = ", ".join(name for name in DTYPES if KINDS[name] == kind)
        raise SpaceError(f"{constructor} dtype is {dtype!r}; use one of {options}.")


def _as_shape(shape: object) -> tuple[int, ...]:
    """Turns lists and numpy integers into a tuple of ints, or refuses."""
    if type(shape) is int:
        raise SpaceError(f"Box shape is {shape}; for a vector write shape=({shape},).")
    if isinstance(shape, (tuple, list)):
        sizes = [size.item() if isinstance(size, np.integer) else size for size in shape]
        if not any(type(size) is not int or size < 1 for size in sizes):
            return tuple(sizes)
    raise SpaceError(
        f"Box shape is {shape!r}; give a tuple of positive integers. Batch and time don't belong "
        "to it: name them in ranks."
    )


def _plus_one(bound: Bound) -> Bound:
    if isinstance(bound, tuple):
        return tuple([_plus_one(item) for item in bound])
    return bound + 1


def _plain(bound: Bound) -> Any:
    """Lists for tuples, and None for infinities, which JSON doesn't have."""
    if isinstance(bound, tuple):
        return [_plain(item) for item in bound]
    return None if math.isinf(bound) else bound
