"""Spaces of sequences: time as part of a record's shape, and as a rank."""

from __future__ import annotations

from typing import Any

from rlg.errors import SpaceError
from rlg.graph.spaces import Box, Space


def sequence_of(space: Space, length: int) -> Space:
    """The space of `length` steps as one record."""
    return space.map(
        lambda box: _box(box, (length, *box.shape), "B", lambda bound: (bound,) * length)
    )


def part_of(space: Space, steps: slice) -> Space:
    """The space of some of the steps of such records."""

    def part(box: Box) -> Box:
        count = len(range(*steps.indices(box.shape[0])))
        return _box(box, (count, *box.shape[1:]), "B", lambda bound: bound[steps])

    return space.map(part)


def with_time(space: Space) -> Space:
    """The space of such records with the first axis of their shapes as time: ranks BT."""
    return space.map(_unrolled)


def _unrolled(box: Box) -> Box:
    if box.ranks != "B" or not box.shape:
        raise SpaceError(
            f"a sequence is {box}, but it has one batch rank, and time as the first axis of its "
            "shape. Make it with sequence_of(space, length)."
        )
    return _box(box, box.shape[1:], "BT", lambda bound: bound[0])


def _box(box: Box, shape: tuple[int, ...], ranks: str, of_steps: Any) -> Box:
    """Bounds of single elements go along for integers, whose categories networks must know."""
    low, high = (
        (of_steps(bound) if box.kind == "int" else None) if isinstance(bound, tuple) else bound
        for bound in (box.low, box.high)
    )
    return Box(shape, box.dtype, low, high, ranks=ranks)
