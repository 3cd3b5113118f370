"""Spaces from gymnasium and back.

Ranks are lost on the way out. What differs in gymnasium only by class is one Box here, and comes
back as follows: an int Box without shape and with both bounds is a Discrete; an int64 Box with
shape and both bounds a MultiDiscrete; an int8 Box from 0 to 1 with shape a MultiBinary; any other,
booleans included, a Box. An integer bound at the end of a signed dtype is no bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rlg.errors import SpaceError
from rlg.graph.spaces.bounds import DTYPES, LIMITS
from rlg.graph.spaces.box import BoolBox, Box
from rlg.graph.spaces.containers import Dict, Tuple
from rlg.graph.spaces.space import Path, Space, located

if TYPE_CHECKING:
    from gymnasium import spaces as gym

_SUPPORTED = "Box, Discrete, MultiDiscrete, MultiBinary, Dict and Tuple"


def from_gymnasium(space: gym.Space[Any], ranks: str = "B") -> Space:
    """The same values as a space of ours, each leaf with these ranks.

    A MultiBinary becomes an int8 Box from 0 to 1, not a boolean one: its values are int8.
    """
    return _read(space, ranks, ())


def to_gymnasium(space: Space) -> gym.Space[Any]:
    """The same values as a space of gymnasium, without ranks."""
    from gymnasium import spaces as gym

    if isinstance(space, Dict):
        return gym.Dict({key: to_gymnasium(child) for key, child in space.items()})
    if isinstance(space, Tuple):
        return gym.Tuple([to_gymnasium(child) for child in space])
    assert isinstance(space, Box)
    return _write(space)


def _read(space: gym.Space[Any], ranks: str, path: Path) -> Space:
    from gymnasium import spaces as gym

    if isinstance(space, gym.Dict):
        return Dict({key: _read(child, ranks, (*path, key)) for key, child in space.items()})
    if isinstance(space, gym.Tuple):
        children = enumerate(space.spaces)
        return Tuple(*[_read(child, ranks, (*path, place)) for place, child in children])
    if isinstance(space, gym.Box):
        low, high = space.low, space.high
    elif isinstance(space, gym.Discrete):
        low = np.asarray(int(space.start))
        high = low + int(space.n) - 1
    elif isinstance(space, gym.MultiDiscrete):
        low = space.start
        high = low + (space.nvec - 1)
    elif isinstance(space, gym.MultiBinary):
        return Box(space.shape, "int8", 0, 1, ranks)
    else:
        message = f"{_named(space)} has no counterpart; supported are {_SUPPORTED}."
        raise SpaceError(located(path, f"{message} Wrap the environment so that it uses these."))
    dtype = space.dtype.name
    if dtype not in DTYPES:
        message = f"{_named(space)} has dtype {dtype}; supported are {', '.join(DTYPES)}."
        raise SpaceError(located(path, f"{message} Wrap the environment so that it casts."))
    return _box(low, high, dtype, ranks)


def _box(low: NDArray[Any], high: NDArray[Any], dtype: str, ranks: str) -> Box:
    if dtype == "bool":
        return BoolBox(low.shape, ranks)
    first, last = LIMITS.get(dtype, (0, 0))
    # Gymnasium writes a missing bound of a signed integer as the end of the dtype.
    unbounded_below = first < 0 and (low == first).all()
    unbounded_above = first < 0 and (high == last).all()
    return Box(
        low.shape,
        dtype,
        None if unbounded_below else low,
        None if unbounded_above else high,
        ranks,
    )


def _write(box: Box) -> gym.Space[Any]:
    from gymnasium import spaces as gym

    dtype: Any = np.dtype(box.dtype)
    if box.kind == "bool":
        return gym.Box(0, 1, box.shape, dtype)
    first, last = LIMITS.get(box.dtype, (-np.inf, np.inf))
    low = np.full(box.shape, first if box.low is None else np.asarray(box.low), dtype)
    high = np.full(box.shape, last if box.high is None else np.asarray(box.high), dtype)
    unbounded = first < 0 and bool((low == first).all() or (high == last).all())
    if box.kind == "float" or unbounded:
        return gym.Box(low, high, box.shape, dtype)
    if box.dtype == "int8" and box.shape and (box.low, box.high) == (0, 1):
        return gym.MultiBinary(box.shape[0] if len(box.shape) == 1 else box.shape)
    count = high.astype(object) - low.astype(object) + 1  # Python's integers: no overflow
    if np.max(count) <= last and not box.shape:
        return gym.Discrete(int(np.max(count)), start=int(low), dtype=dtype)
    if np.max(count) <= last and box.dtype == "int64":
        return gym.MultiDiscrete(count.astype(dtype), dtype=dtype, start=low)
    return gym.Box(low, high, box.shape, dtype)


def _named(space: object) -> str:
    return f"gymnasium's {type(space).__name__}"
