"""An environment with forbidden actions, for tests: choosing one of them raises."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Masked(gymnasium.Env[Any, Any]):
    """Four actions, of which the one that was chosen last and another one are forbidden."""

    def __init__(self) -> None:
        self.observation_space = spaces.Dict(
            action_mask=spaces.Box(0, 1, (4,), np.int8),
            place=spaces.Box(0.0, 1.0, (3,), np.float32),
        )
        self.action_space = spaces.Discrete(4)
        self._allowed = np.ones(4, np.int8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self._steps, self._allowed = 0, np.array([1, 0, 1, 1], np.int8)
        return self._observe(), {}

    def step(self, action: int) -> Any:
        if not self._allowed[action]:
            raise RuntimeError(f"action {action} is forbidden by {self._allowed.tolist()}")
        self._steps += 1
        self._allowed = np.ones(4, np.int8)
        self._allowed[[action, self.np_random.integers(4)]] = 0
        return self._observe(), 1.0, self._steps == 7, False, {}

    def _observe(self) -> dict[str, Any]:
        place = self.np_random.random(3).astype(np.float32)
        return {"action_mask": self._allowed.copy(), "place": place}


def register() -> None:
    """Makes the id known."""
    if "plain/Masked-v0" not in gymnasium.registry:
        gymnasium.register("plain/Masked-v0", Masked)
