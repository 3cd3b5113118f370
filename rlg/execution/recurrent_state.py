"""What a recurrent policy remembers of the episodes that are under way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.graph.spaces import Space


class RecurrentState:
    """The state of N environments, zeros where an episode begins. Belongs to who steps them."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._values: Any = None
        self._resets: NDArray[np.bool_] = np.ones(0, np.bool_)

    def before_step(self, num_envs: int) -> tuple[Any, NDArray[np.bool_]]:
        """The state to act from, and where episodes begin with this step, bool [N]."""
        if len(self._resets) != num_envs:
            self._values = self._space.zeros(num_envs)
            self._resets = np.ones(num_envs, np.bool_)
        return self._values, self._resets

    def after_step(self, values: Any) -> None:
        """Keeps the state that acting returned."""
        self._values = values
        self._resets = np.zeros_like(self._resets)

    def reset(self, ended: Any = None) -> None:
        """Episodes begin where others ended, bool [N]; everywhere if left out."""
        self._resets = np.array(ended, np.bool_) if ended is not None else np.ones(0, np.bool_)

    def get_state(self) -> dict[str, Any]:
        return {"values": self._values, "resets": self._resets}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self._values, self._resets = state["values"], np.asarray(state["resets"])
