"""Spaces: what tensors look like before there are any.

Why values and not classes with flags: spaces are compared, hashed and sent between processes at
every step of the build, so they are frozen, and bounds are part of them. Why `ranks` is one word:
batch, time and folded axes exclude or order each other, which separate flags can't say.
"""

from rlg.graph.spaces.bounds import DTYPES
from rlg.graph.spaces.box import BoolBox, Box, FloatBox, IntBox
from rlg.graph.spaces.containers import Dict, SpaceLike, Tuple
from rlg.graph.spaces.gymnasium import from_gymnasium, to_gymnasium
from rlg.graph.spaces.nested import flatten, map_leaves, path_name, unflatten
from rlg.graph.spaces.space import RANKS, Path, Space
from rlg.graph.spaces.spec import space_from_spec

__all__ = [
    "DTYPES",
    "RANKS",
    "BoolBox",
    "Box",
    "Dict",
    "FloatBox",
    "IntBox",
    "Path",
    "Space",
    "SpaceLike",
    "Tuple",
    "flatten",
    "from_gymnasium",
    "map_leaves",
    "path_name",
    "space_from_spec",
    "to_gymnasium",
    "unflatten",
]
