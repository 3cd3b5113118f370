"""A task that only a policy with a memory can solve."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


class Recall(gymnasium.Env[NDArray[np.float32], Any]):
    """Shows a cue, waits for `delay` steps, then asks for it.

    The first observation is one of `num_cues` cues, one-hot, then come `delay` of zeros, then the
    question: a 1 in the last place, the same for all cues. The action that answers it earns 1 if it
    names the cue, else 0, and ends the episode; what is done before has no effect. Whoever does not
    remember earns 1 / num_cues on average.
    """

    def __init__(self, num_cues: int = 4, delay: int = 6) -> None:
        if num_cues < 2 or delay < 0:
            raise ValueError(f"recall: num_cues is {num_cues}, delay {delay}; at least 2 and 0.")
        self._num_cues, self._delay = num_cues, delay
        self._cue, self._steps = 0, 0
        self.observation_space = spaces.Box(0.0, 1.0, (num_cues + 1,), np.float32)
        self.action_space = spaces.Discrete(num_cues)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self._cue, self._steps = int(self.np_random.integers(self._num_cues)), 0
        return self._observe(), {}

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        asked = self._steps == self._delay + 1
        self._steps += 1
        reward = float(asked and int(action) == self._cue)
        return self._observe(), reward, asked, False, {}

    def _observe(self) -> NDArray[np.float32]:
        observation = np.zeros(self._num_cues + 1, np.float32)
        if self._steps == 0:
            observation[self._cue] = 1.0
        elif self._steps == self._delay + 1:
            observation[-1] = 1.0
        return observation
