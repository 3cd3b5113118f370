"""An environment that counts, so that a test knows every number in advance."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


class Counter(gymnasium.Env[NDArray[np.float32], Any]):
    """The observation is the number of steps so far, [1]; so is the reward, from 0 in step 1.

    Episodes end after `steps_to_terminal` steps whatever the actions are.
    """

    def __init__(self, steps_to_terminal: int = 5, num_actions: int = 2) -> None:
        self._steps_to_terminal = steps_to_terminal
        self._steps = 0
        self.observation_space = spaces.Box(0.0, np.inf, (1,), np.float32)
        self.action_space = spaces.Discrete(num_actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self._steps = 0
        return self._observe(), {}

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        reward = float(self._steps)
        self._steps += 1
        return self._observe(), reward, self._steps >= self._steps_to_terminal, False, {}

    def _observe(self) -> NDArray[np.float32]:
        return np.array([self._steps], np.float32)
