"""What components need to know of discrete action spaces."""

from __future__ import annotations

from typing import Any

from rlg.errors import SpaceError
from rlg.graph.spaces import Box, space_from_spec


def discrete(owner: str, action_space: Any) -> Box:
    """Reads a space of choices 0, 1, ..., equally many for each sub-action, or refuses it."""
    space = space_from_spec(action_space)
    if isinstance(space, Box) and space.num_categories is not None:
        counts = set(_numbers(space.num_categories))
        if len(counts) == 1:
            return Box(space.shape, space.dtype, 0, counts.pop() - 1, space.ranks)
    raise SpaceError(
        f"{owner}: action_space is {space}; it must be choices that count from 0, equally many for "
        "each sub-action, as in IntBox(4) or IntBox(4, shape=(2,))."
    )


def num_choices(action_space: Box) -> int:
    """How many choices each sub-action of a space read by `discrete` has."""
    return int(action_space.high) + 1


def _numbers(bound: Any) -> list[int]:
    if isinstance(bound, tuple):
        return [number for item in bound for number in _numbers(item)]
    return [int(bound)]
