"""Observations that say which actions are allowed: what the network sees of them, and the mask."""

from __future__ import annotations

from rlg.errors import ComponentError
from rlg.graph.components.policies.masked import MASK
from rlg.graph.spaces import BoolBox, Box, Dict, Space


def parted(observations: Space) -> tuple[Space, Box | None]:
    """The space that the network sees, and that of masks."""
    if not isinstance(observations, Dict) or MASK not in observations:
        return observations, None
    rest = {key: observations[key] for key in seen_keys(observations)}
    if not rest:
        raise ComponentError(f"the observations hold {MASK!r} and nothing else to see.")
    masks = observations[MASK]
    if not isinstance(masks, Box):
        raise ComponentError(f"{MASK!r} in the observations must be one array, got {masks}.")
    alone = next(iter(rest.values())) if len(rest) == 1 else Dict(rest)
    return alone, BoolBox(shape=masks.shape)


def seen_keys(observations: Dict) -> list[str]:
    """The keys that are no mask."""
    return [key for key in observations if key != MASK]
