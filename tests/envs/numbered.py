"""An environment that numbers its transitions; processes of their own import it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Numbered(gymnasium.Env[Any, Any]):
    """Shows (episode, step); the reward is 10 * episode + step, of the transition that it is for.

    Episodes have 2, 3, 4, 2, 3, 4... steps; every second one is truncated. `first` shifts them, so
    that environments side by side end at different times.
    """

    observation_space = spaces.Box(0.0, 1e6, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, first: int = 0) -> None:
        self.first, self.episode, self.steps = first, -1, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        # A second reset of an episode that has not begun would skip a number.
        if self.steps or self.episode < 0:
            self.episode += 1
        self.steps = 0
        return self._observe(), {}

    def step(self, action):
        reward = 10.0 * self.episode + self.steps
        self.steps += 1
        over = self.steps == 2 + (self.episode + self.first) % 3
        return self._observe(), reward, over and self.episode % 2 == 0, over, {}

    def _observe(self):
        return np.array([self.episode, self.steps], np.float32)
