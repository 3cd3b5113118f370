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

LAST, BEHIND = "last observation", "next observation"


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
    """Floats, each [T, N, ...]; the last observations of episodes that ended: [E, ...].

    Those behind the last step are row 0 of a column of their own: they are learnt from already.
    """
    yield "reward", segment.rewards
    trees = {"observation": segment.states, BEHIND: segment.last_states}
    if len(segment.ends[0]):
        trees[LAST] = segment.final_states
    for what, tree in trees.items():
        for path, leaf in flatten(tree).items():
            if leaf.dtype.kind == "f":
                found = leaf[None] if what == BEHIND else leaf
                yield f"{what} {path_name(path)}".rstrip(), found


def _failure(
    segment: Segment, env: str, first_step: int, what: str, column: Any, place: tuple[int, ...]
) -> EnvironmentFailure:
    if what.startswith(LAST):
        row, index = (int(part[place[0]]) for part in segment.ends)
    else:
        row, index = place[:2]
    if what.startswith(BEHIND):
        what, row = what.replace(BEHIND, "observation", 1), len(segment.rewards)
    step = first_step + row * segment.rewards.shape[1]
    return EnvironmentFailure(
        f"{env}: the {what} of environment {index} is {column[place]} at step {step:,}. "
        "Nothing can be learnt from it: correct the environment, or end the episode before."
    )
