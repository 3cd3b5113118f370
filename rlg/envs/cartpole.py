"""CartPole on gymnasium's own vector environment: one numpy computation for all poles.

It pays from 8 environments on. Its episodes are bit by bit those of the single environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.envs.actions import Actions
from rlg.envs.episodes import Rows
from rlg.envs.vector import Step, VectorEnv
from rlg.graph.limits import PositiveInt
from rlg.graph.spaces import from_gymnasium


class CartPoleEnv(VectorEnv):
    """N poles. A snapshot is their state; there is no generator to save, episodes have seeds."""

    kind = "cartpole"

    def __init__(
        self,
        name: str,
        num_envs: PositiveInt = 1,
        seed: int = 0,
        max_episode_steps: PositiveInt = 500,
        sutton_barto_reward: bool = False,
    ) -> None:
        from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

        self._native: Any = CartPoleVectorEnv(
            num_envs, max_episode_steps, sutton_barto_reward=sutton_barto_reward
        )
        self._actions = Actions(name, num_envs, self._native.single_action_space)
        super().__init__(
            name,
            num_envs,
            seed,
            {"max_episode_steps": max_episode_steps, "sutton_barto_reward": sutton_barto_reward},
            from_gymnasium(self._native.single_observation_space),
            self._actions.space,
        )

    def reset(self) -> Any:
        self._native.reset(seed=0)  # allocates the state, which is written over
        self._episodes.begin()
        self._begin(np.arange(self.num_envs))
        return self._observations()

    def step(self, actions: Any) -> Step:
        self._require_start("step")
        (chosen,) = self._actions.columns(actions)
        _, rewards, terminals, truncations, _ = self._native.step(chosen)
        observations = final = self._observations()
        truncations &= ~terminals
        self._episodes.add(rewards)
        ended = np.flatnonzero(terminals | truncations)
        returns, lengths = self._episodes.finish(ended)
        if ended.size:
            self._begin(ended)
            observations = self._observations()
        return Step(observations, rewards, terminals, truncations, final, returns, lengths, ended)

    def snapshot(self) -> dict[str, Any]:
        self._require_start("snapshot")
        return {
            **self._identity(),
            **self._episodes.snapshot(),
            "state": self._native.state.copy(),  # [4, N] float64
            "steps": self._native.steps.copy(),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> Any:
        self._check_identity(snapshot)
        self._native.reset(seed=0)
        self._episodes.restore(snapshot)
        self._native.state[:] = snapshot["state"]
        self._native.steps[:] = snapshot["steps"]
        return self._observations()

    def close(self) -> None:
        self._native.close()

    def _begin(self, rows: Rows) -> None:
        """Puts poles where the single environment puts them for the same seeds."""
        from gymnasium.utils.seeding import np_random

        native = self._native
        for row in rows.tolist():
            rng, _ = np_random(self._episodes.seed_of(row))
            native.state[:, row] = rng.uniform(low=native.low, high=native.high, size=(4,))
        native.steps[rows] = 0
        native.prev_done[rows] = False  # else it would reset them again in the next step

    def _observations(self) -> NDArray[np.float32]:
        return np.array(self._native.state.T, np.float32, order="C")
