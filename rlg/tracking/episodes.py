"""Returns and lengths of the last episodes, and their means under Stable-Baselines3's tags."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rlg.errors import TrackingError


class EpisodeStats:
    """A window over the newest episodes of all environments, in the order in which they ended."""

    def __init__(self, window: int = 100) -> None:
        if window < 1:
            raise TrackingError(f"EpisodeStats has window={window}; must be at least 1.")
        self.window = window
        self.episodes = 0  # ended so far, also outside of the window
        self._returns: deque[float] = deque(maxlen=window)
        self._lengths: deque[int] = deque(maxlen=window)

    def add(self, returns: ArrayLike, lengths: ArrayLike) -> None:
        """Takes the episodes that just ended: one number each, or vectors of equal length."""
        rewards = np.asarray(returns, np.float64).reshape(-1).tolist()
        steps = np.asarray(lengths, np.int64).reshape(-1).tolist()
        if len(rewards) != len(steps):
            raise TrackingError(
                f"EpisodeStats got {len(rewards)} returns and {len(steps)} lengths; pass one of "
                "each per episode."
            )
        self._returns.extend(rewards)
        self._lengths.extend(steps)
        self.episodes += len(rewards)

    def means(self) -> dict[str, float]:
        """Ready to be logged; empty before the first episode has ended."""
        if not self._returns:
            return {}
        return {
            "rollout/ep_rew_mean": sum(self._returns) / len(self._returns),
            "rollout/ep_len_mean": sum(self._lengths) / len(self._lengths),
        }

    def state(self) -> dict[str, Any]:
        """Plain JSON values for `restore`, which continues exactly."""
        return {
            "episodes": self.episodes,
            "returns": list(self._returns),
            "lengths": list(self._lengths),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._returns = deque(state["returns"], maxlen=self.window)
        self._lengths = deque(state["lengths"], maxlen=self.window)
        self.episodes = state["episodes"]
