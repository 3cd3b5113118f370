"""CartPole that shows positions and no velocities: a policy has to remember."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from numpy.typing import NDArray

SHOWN = [0, 2]  # the cart's place and the pole's angle, of (place, speed, angle, angular speed)


class CartPolePositions(gymnasium.ObservationWrapper[NDArray[np.float32], Any, Any]):
    """The observation is the cart's place and the pole's angle, [2]."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(CartPoleEnv(render_mode=render_mode))
        whole = self.env.observation_space
        assert isinstance(whole, spaces.Box)
        self.observation_space = spaces.Box(whole.low[SHOWN], whole.high[SHOWN], dtype=np.float32)

    def observation(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        return observation[SHOWN]
