"""Networks and observations that can't fit: said in the words of the configuration."""

from __future__ import annotations

from typing import Any

from rlg.errors import SpecError
from rlg.graph.spaces import Box, Space


def check_fit(network: Any, env: str, observations: Space) -> None:
    """Refuses the common mistakes; what it doesn't know the build will say, by component."""
    kind = network.get("type") if isinstance(network, dict) else None
    axes = len(observations.shape) if isinstance(observations, Box) else None
    if kind == "mlp" and axes == 3:
        raise SpecError(
            f"network, env: an mlp takes vectors, but {env} gives images, {observations}. "
            "Write network=nature_cnn, or another env=."
        )
    if kind == "nature_cnn" and axes != 3:
        raise SpecError(
            f"network, env: nature_cnn takes images, but {env} gives {observations}. "
            "Write network=mlp, or another env=."
        )
