"""Spaces of sequences: time as part of a record's shape, and as a rank."""

from __future__ import annotations

from rlg.errors import SpaceError
from rlg.graph.spaces import Box, Space


def sequence_of(space: Space, length: int) -> Space:
    """The space of `length` steps as one record."""
    return space.map(lambda box: _box(box, (length, *box.shape), "B"))


def with_time(space: Space) -> Space:
    """The space of such records with the first axis of their shapes as time: ranks BT."""
    return space.map(_unrolled)


def _unrolled(box: Box) -> Box:
    if box.ranks != "B" or not box.shape:
        raise SpaceError(
            f"a sequence is {box}, but it has one batch rank, and time as the first axis of its "
            "shape. Make it with sequence_of(space, length)."
        )
    return _box(box, box.shape[1:], "BT")


def _box(box: Box, shape: tuple[int, ...], ranks: str) -> Box:
    """Bounds of single elements don't go along: they have the shape of one step."""
    low, high = (x if isinstance(x, (int, float)) else None for x in (box.low, box.high))
    return Box(shape, box.dtype, low, high, ranks=ranks)
