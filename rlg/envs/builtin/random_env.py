"""Random numbers as an environment: shapes and speed without a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


class RandomEnv(gymnasium.Env[NDArray[np.float32], Any]):
    """Observations and rewards uniform in [0, 1), and a chance to end in every step.

    Episodes differ by their seeds. With `deterministic` all are the same one, drawn by numpy's
    legacy generator from seed 10, as in RLgraph.
    """

    def __init__(
        self,
        shape: Sequence[int] = (2, 2),
        num_actions: int = 2,
        terminal_probability: float = 0.1,
        deterministic: bool = False,
    ) -> None:
        self._shape = tuple(shape)
        self._terminal_probability = terminal_probability
        self._deterministic = deterministic
        self.observation_space = spaces.Box(0.0, 1.0, self._shape, np.float32)
        self.action_space = spaces.Discrete(num_actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        if self._deterministic:
            self._draw: Any = np.random.RandomState(10).random_sample
        else:
            self._draw = self.np_random.random
        return self._observe(), {}

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        observation, reward, chance = self._observe(), float(self._draw()), float(self._draw())
        return observation, reward, chance < self._terminal_probability, False, {}

    def _observe(self) -> NDArray[np.float32]:
        return np.asarray(self._draw(self._shape), np.float32)
