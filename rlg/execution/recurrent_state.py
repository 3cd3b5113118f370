"""What a recurrent policy remembers of the episodes that are under way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.errors import ExecutionError
from rlg.graph.spaces import Dict, Space

# Where a state has an entry of this name, it is the reward of the step before: who steps the
# environments knows it, and not who acts.
REWARDS = "rewards"


class RecurrentState:
    """The state of N environments, zeros where an episode begins. Belongs to who steps them."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._has_rewards = isinstance(space, Dict) and REWARDS in space
        self._values: Any = None
        self._resets: NDArray[np.bool_] = np.ones(0, np.bool_)

    def before_step(self, num_envs: int) -> tuple[Any, NDArray[np.bool_]]:
        """The state to act from, and where episodes begin with this step, bool [N]."""
        if len(self._resets) != num_envs:
            self._values = self._space.zeros(num_envs)
            self._resets = np.ones(num_envs, np.bool_)
        return self._values, self._resets

    def after_step(self, values: Any, rewards: Any = None) -> Any:
        """Keeps the state that acting returned, with the rewards of the step if it wants them."""
        self._values = values
        self._resets = np.zeros_like(self._resets)
        return self._values if rewards is None else self.reward(rewards)

    def reward(self, rewards: Any) -> Any:
        """The state with the rewards of the step, float [N], if it wants them."""
        if self._has_rewards and self._values is not None:
            self._values = {**self._values, REWARDS: np.asarray(rewards, np.float32)}
        return self._values

    def reset(self, ended: Any = None) -> None:
        """Episodes begin where others ended, bool [N]; everywhere if left out."""
        if ended is None:
            self._resets = np.ones(0, np.bool_)
        if not len(self._resets):
            return  # All begin anyway.
        ends = np.atleast_1d(np.asarray(ended, np.bool_))
        if ends.shape != self._resets.shape:
            raise ExecutionError(
                f"reset: {ends.size} ends are given, but the last step was one of "
                f"{len(self._resets)} environments. Give one bool for each of them."
            )
        # Several calls before the next step add up: environments may end one by one.
        self._resets = self._resets | ends

    def get_state(self) -> dict[str, Any]:
        return {"values": self._values, "resets": self._resets}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self._values, self._resets = state["values"], np.asarray(state["resets"])
