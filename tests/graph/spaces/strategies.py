"""Hypothesis strategies for random spaces and value trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from rlg.graph.spaces import DTYPES, RANKS, Box, Dict, Space, Tuple
from rlg.graph.spaces.bounds import KINDS, LIMITS

keys = st.text("abcz/", min_size=1, max_size=3)
shapes = st.lists(st.integers(1, 3), max_size=2).map(tuple)


def boxes(ranks: str | None = None, dtypes: tuple[str, ...] = DTYPES) -> st.SearchStrategy[Box]:
    """Boxes of any shape, dtype and bounds; of any ranks unless they are given."""
    return _boxes(st.sampled_from(RANKS if ranks is None else (ranks,)), dtypes)


def spaces(
    ranks: str | None = None, max_leaves: int = 5, dtypes: tuple[str, ...] = DTYPES
) -> st.SearchStrategy[Space]:
    """Nested spaces; leaves have ranks of their own unless they are given."""
    return st.recursive(boxes(ranks, dtypes), _containers, max_leaves=max_leaves)


def trees(leaves: st.SearchStrategy[Any], max_leaves: int = 8) -> st.SearchStrategy[Any]:
    """Value trees without empty dicts and tuples."""
    return st.recursive(
        leaves,
        lambda children: (
            st.dictionaries(keys, children, min_size=1, max_size=3)
            | st.lists(children, min_size=1, max_size=3).map(tuple)
        ),
        max_leaves=max_leaves,
    )


def _containers(children: st.SearchStrategy[Space]) -> st.SearchStrategy[Space]:
    dicts = st.dictionaries(keys, children, min_size=1, max_size=3).map(Dict)
    tuples = st.lists(children, min_size=1, max_size=3).map(lambda items: Tuple(*items))
    return dicts | tuples


@st.composite
def _boxes(draw: st.DrawFn, ranks: st.SearchStrategy[str], dtypes: tuple[str, ...]) -> Box:
    shape, dtype = draw(shapes), draw(st.sampled_from(dtypes))
    sides = draw(st.sampled_from(["", "low", "high", "low high"]))
    low = high = None
    if sides and KINDS[dtype] != "bool":
        size = draw(st.sampled_from([(), shape]))
        one, two = draw(_numbers(dtype, size)), draw(_numbers(dtype, size))
        low = np.minimum(one, two) if "low" in sides else None
        high = np.maximum(one, two) if "high" in sides else None
        if low is not None and size and KINDS[dtype] == "float" and draw(st.booleans()):
            low.flat[0] = -np.inf
    return Box(shape, dtype, low, high, draw(ranks))


@st.composite
def _numbers(draw: st.DrawFn, dtype: str, size: tuple[int, ...]) -> Any:
    n = int(np.prod(size))
    if KINDS[dtype] == "int":
        elements = st.integers(*LIMITS[dtype]) | st.integers(0, 3)
    else:
        width = np.dtype(dtype).itemsize * 8
        elements = st.floats(width=width, allow_nan=False, allow_infinity=False)
    return np.reshape(np.array(draw(st.lists(elements, min_size=n, max_size=n)), dtype), size)
