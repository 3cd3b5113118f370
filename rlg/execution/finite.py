"""Whether what environments return are numbers: looked at once for each task, not for each step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.errors import EnvironmentFailure
from rlg.execution.types import Segment
from rlg.graph.spaces import flatten, path_name

LAST, NEXT = "last observation", "next observation"


def check_segment(segment: Segment, env: str, first_step: int) -> None:
    """Raises EnvironmentFailure for an observation or reward that is NaN or infinite.

    `first_step` counts the environment steps before the segment.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        for what, column in _columns(segment):
            # The sum of squares is not finite if any of them is not: one call into BLAS, 1 us.
            flat = column.reshape(-1)
            if not math.isfinite(flat.dot(flat)):
                bad = np.argwhere(~np.isfinite(column))
                if len(bad):
                    raise _failure(segment, env, first_step, what, column, tuple(bad[0].tolist()))


def _columns(segment: Segment) -> Iterator[tuple[str, NDArray[Any]]]:
    """Floats, each [T, N, ...]; [N, ...] after the last step; [E, ...] where episodes ended."""
    yield "reward", segment.rewards
    trees = {"observation": segment.states, NEXT: segment.last_states}
    if len(segment.ends[0]):
        trees[LAST] = segment.final_states
    for what, tree in trees.items():
        for path, leaf in flatten(tree).items():
            if leaf.dtype.kind == "f":
                yield f"{what} {path_name(path)}".rstrip(), leaf


def _failure(
    segment: Segment, env: str, first_step: int, what: str, column: Any, place: tuple[int, ...]
) -> EnvironmentFailure:
    if what.startswith(LAST):
        row, index = (int(part[place[0]]) for part in segment.ends)
    elif what.startswith(NEXT):
        row, index = len(segment.rewards), place[0]
    else:
        row, index = place[:2]
    step = first_step + row * segment.rewards.shape[1]
    return EnvironmentFailure(
        f"{env}: the {what} of environment {index} is {column[place]} at step {step:,}. "
        "Nothing can be learned from it: correct the environment, or end the episode before."
    )
