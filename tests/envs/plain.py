"""Plain environments of the tests: some that misbehave, and a single Atari game by hand."""

from __future__ import annotations

from typing import Any

import cv2
import gymnasium
import numpy as np
from ale_py import Action, ALEInterface, LoggerMode, roms
from gymnasium import spaces


class Crashing(gymnasium.Env[Any, Any]):
    """Raises in the third step of its second episode, or in that episode's reset."""

    observation_space = spaces.Box(0.0, 1.0, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, in_reset: bool = False) -> None:
        self.in_reset = in_reset
        self.episode = -1
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode += 1
        self.steps = 0
        if self.in_reset and self.episode == 1:
            raise OSError("no\nlevel file")
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.steps += 1
        if self.episode == 1 and self.steps == 3:
            raise ZeroDivisionError("division by zero")
        return np.zeros(2, np.float32), 0.0, self.episode == 0 and self.steps == 4, False, {}


class Remembering(gymnasium.Env[Any, Any]):
    """Carries the number of its episodes over into what it shows."""

    observation_space = spaces.Box(0.0, 100.0, (1,), np.float32)
    action_space = spaces.Discrete(2)
    episodes = 0
    steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episodes += 1
        self.steps = 0
        return np.array([self.episodes], np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.array([self.episodes], np.float32), 1.0, self.steps == 4, False, {}


class Nested(gymnasium.Env[Any, Any]):
    """Dicts on both sides; shows the action that it was given, after checking it."""

    def __init__(self) -> None:
        self.observation_space = spaces.Dict(
            image=spaces.Box(0, 255, (3, 2, 1), np.uint8),
            place=spaces.Tuple([spaces.Box(-np.inf, np.inf, (2,), np.float64), spaces.Discrete(9)]),
        )
        self.action_space = spaces.Dict(
            gear=spaces.Discrete(3, start=2),
            keys=spaces.MultiDiscrete([2, 3]),
            wheel=spaces.Box(-1.0, 1.0, (2,), np.float64),
        )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._show({"gear": 0, "wheel": np.zeros(2)}), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        return self._show(action), float(action["keys"].sum()), False, False, {}

    def _show(self, action):
        image = self.np_random.integers(0, 256, (3, 2, 1), np.uint8)
        return {"image": image, "place": (action["wheel"], int(action["gear"]))}


class Misshapen(gymnasium.Env[Any, Any]):
    """Shows one number where its space says four."""

    observation_space = spaces.Box(0.0, 1.0, (4,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}


def register_plain() -> None:
    for cls in (Crashing, Remembering, Nested, Misshapen):
        env_id = f"plain/{cls.__name__}-v0"
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, cls)


class SingleAtari:
    """One game on ALE's single interface, preprocessed here: skip 4, stack 4, 84 x 84 gray."""

    def __init__(self, game: str, seed: int, sticky: float = 0.0) -> None:
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self.ale = ALEInterface()
        self.ale.setFloat("repeat_action_probability", sticky)
        self.ale.setInt("random_seed", seed)
        self.ale.loadROM(roms.get_rom_path(game))
        self.actions = self.ale.getMinimalActionSet()

    def reset(self) -> np.ndarray:
        self.ale.reset_game()
        if Action.FIRE in self.actions:
            self.ale.act(Action.FIRE)
        self.raw = np.zeros((2, 210, 160), np.uint8)
        self.raw[0] = self.ale.getScreenGrayscale()
        self.stack = np.zeros((84, 84, 4), np.uint8)
        return self._push()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, int]:
        """Observation, reward, game over, lives."""
        reward = 0.0
        for left in (4, 3, 2, 1):
            reward += self.ale.act(self.actions[action])
            if self.ale.game_over():
                break
            if left <= 2:
                self.raw[left - 1] = self.ale.getScreenGrayscale()
        return self._push(), reward, self.ale.game_over(), self.ale.lives()

    def _push(self) -> np.ndarray:
        self.raw[0] = self.raw.max(0)
        frame = cv2.resize(self.raw[0], (84, 84), interpolation=cv2.INTER_AREA)
        self.stack = np.concatenate([self.stack[..., 1:], frame[..., None]], -1)
        return self.stack
