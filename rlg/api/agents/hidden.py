"""What a recurrent agent remembers of the episodes that it is in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.graph.spaces import Space


class Hidden:
    """The recurrent state of B environments; it begins with nothing."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._values: Any = None
        self._resets: NDArray[np.bool_] = np.ones(0, np.bool_)

    def of(self, num_envs: int) -> tuple[Any, NDArray[np.bool_]]:
        """The state before the next step, and where an episode begins with it."""
        if len(self._resets) != num_envs:
            self._values = self._space.zeros(num_envs)
            self._resets = np.ones(num_envs, np.bool_)
        return self._values, self._resets

    def keep(self, values: Any) -> None:
        """The state after a step."""
        self._values = values
        self._resets = np.zeros_like(self._resets)

    def forget(self, ended: Any = None) -> None:
        """Where episodes ended the next ones begin; without `ended` everywhere."""
        self._resets = np.array(ended, np.bool_) if ended is not None else np.ones(0, np.bool_)

    def state(self) -> dict[str, Any]:
        """All of it, for a checkpoint."""
        return {"values": self._values, "resets": self._resets}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on from there."""
        self._values, self._resets = state["values"], np.asarray(state["resets"])
