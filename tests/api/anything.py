"""Environments of any spaces, for tests: what they show is drawn, and actions have no effect."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

OBSERVATIONS = {
    "numbers": spaces.Box(-1.0, 1.0, (3,), np.float32),
    # Numbers beside categories, also of different sizes: networks see them one-hot.
    "nested": spaces.Dict(
        place=spaces.Box(-1.0, 1.0, (2,), np.float32),
        cards=spaces.Tuple((spaces.Discrete(3), spaces.MultiDiscrete([2, 4]))),
    ),
}
ACTIONS = {
    "choice": spaces.Discrete(3),
    "choices": spaces.MultiDiscrete([3, 3]),
    "different": spaces.MultiDiscrete([3, 4]),
    "bounded": spaces.Box(-2.0, 2.0, (2,), np.float32),
    "unbounded": spaces.Box(-np.inf, np.inf, (2,), np.float32),
    "nested": spaces.Dict(move=spaces.Box(-1.0, 1.0, (1,)), jump=spaces.Discrete(2)),
}


class Anything(gymnasium.Env[Any, Any]):
    """Episodes of nine steps."""

    def __init__(self, observations: str, actions: str) -> None:
        self.observation_space = OBSERVATIONS[observations]
        self.action_space = ACTIONS[actions]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.observation_space.seed(int(self.np_random.integers(2**31)))
        self._steps = 0
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), action
        self._steps += 1
        return self.observation_space.sample(), 1.0, self._steps == 9, False, {}


def anything(observations: str = "numbers", actions: str = "choice") -> str:
    """The id of such an environment, which is known from then on."""
    name = f"plain/Anything-{observations}-{actions}-v0"
    if name not in gymnasium.registry:
        words = {"observations": observations, "actions": actions}
        gymnasium.register(name, Anything, kwargs=words)
    return name
