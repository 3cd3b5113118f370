"""A plugin: an environment, a component and an agent of one's own, in one module.

    rlg train --config-dir conf experiment=corridor

Copy this folder, rename it, and replace the three parts by yours; leave out what you don't need.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from rlg.api.agents.dqn import DQNAgent
from rlg.api.plugins import register_agent, register_component, register_env
from rlg.execution.types import Batch
from rlg.graph import Component, Tensor, api, graph_fn


class Corridor(gymnasium.Env[Any, Any]):
    """Walk right to the door: 100 for opening it, -1 for each step. Actions: left, right."""

    def __init__(self, length: int = 8) -> None:
        self.length = length
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,))
        self.action_space = gymnasium.spaces.Discrete(2)
        self._place = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._place = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._place = max(0, self._place + (1 if action == 1 else -1))
        is_open = self._place == self.length
        return self._seen(), 100.0 if is_open else -1.0, is_open, False, {}

    def _seen(self) -> Any:
        return np.array([self._place / self.length], np.float32)


class PolynomialFeatures(Component):
    """x, x^2, ..., x^degree side by side. inputs: [B, n]; outputs: [B, n * degree].

    Written once against `self.ops`: it runs on numpy, torch and TensorFlow.
    """

    def __init__(self, degree: int = 3) -> None:
        self.degree = degree

    @api
    @graph_fn(fold_time=True)
    def call(self, inputs: Tensor) -> Tensor:
        return self.ops.concat([inputs**power for power in range(1, self.degree + 1)], -1)


class ClippedDQN(DQNAgent):
    """DQN that never sees rewards above `reward_limit`, or below its negative."""

    def __init__(
        self, observation_space: Any, action_space: Any, reward_limit: float = 1.0, **options: Any
    ) -> None:
        super().__init__(observation_space, action_space, **options)
        self.reward_limit = reward_limit

    def insert(self, batch: Batch) -> None:
        clipped = np.clip(batch.records["rewards"], -self.reward_limit, self.reward_limit)
        super().insert(Batch({**batch.records, "rewards": clipped}, batch.size))


register_env("corridor", Corridor, max_episode_steps=50)
register_component("polynomial_features", PolynomialFeatures)
register_agent("clipped_dqn", ClippedDQN)
