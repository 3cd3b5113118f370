"""The sampling worker: one batched act call for all environments, bookkeeping in columns.

Cost per vector step: one act, one environment step, one row written per column. Nothing is
allocated, and nothing is done per environment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.envs import VectorEnv
from rlg.graph.spaces import Space, flatten, map_leaves

Act = Callable[[Any], Any]
# Told after each step which episodes ended, bool [N].
Forget = Callable[[NDArray[np.bool_]], None]


class SamplingWorker:
    """Steps a vector environment and hands out transitions, `[steps, num_envs]` at a time."""

    def __init__(self, env: VectorEnv, act: Act, steps: int, forget: Forget | None = None) -> None:
        self.env = env
        self.steps = steps
        self._act = act
        self._forget = forget
        self._columns = {
            "states": _column(env.observation_space, steps, env.num_envs),
            "actions": _column(env.action_space, steps, env.num_envs),
            "rewards": np.zeros((steps, env.num_envs), np.float32),
            "terminals": np.zeros((steps, env.num_envs), np.bool_),
            "truncations": np.zeros((steps, env.num_envs), np.bool_),
            "next_states": _column(env.observation_space, steps, env.num_envs),
        }
        self._observations: Any = None

    def start(self) -> None:
        """Begins the first episodes."""
        self._observations = self.env.reset()

    def collect(self) -> tuple[dict[str, Any], list[float], list[int]]:
        """Transitions (valid until the next call), and returns and lengths of ended episodes.

        They are in order, [steps, num_envs, ...]: who needs more than one step finds them there.
        """
        returns: list[float] = []
        lengths: list[int] = []
        columns, observations = self._columns, self._observations
        for row in range(self.steps):
            actions = self._act(observations)
            step = self.env.step(actions)
            _write(columns["states"], row, observations)
            _write(columns["actions"], row, actions)
            columns["rewards"][row] = step.rewards
            # Only a termination ends the value of what follows; a truncated episode bootstraps.
            columns["terminals"][row] = step.terminals
            columns["truncations"][row] = step.truncations
            _write(columns["next_states"], row, step.final_observations)
            returns.extend(float(value) for value in step.episode_returns)
            lengths.extend(int(value) for value in step.episode_lengths)
            observations = step.observations
            if self._forget is not None:
                self._forget(step.terminals | step.truncations)
        self._observations = observations
        return columns, returns, lengths

    def snapshot(self) -> dict[str, Any]:
        """What the environments need to go on exactly here."""
        return self.env.snapshot()

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Goes on from a snapshot."""
        self._observations = self.env.restore(snapshot)


def _column(space: Space, steps: int, num_envs: int) -> Any:
    def make(zeros: NDArray[Any]) -> NDArray[Any]:
        return np.zeros((steps, num_envs, *zeros.shape[1:]), zeros.dtype)

    return map_leaves(make, space.zeros())


def _write(column: Any, row: int, values: Any) -> None:
    if isinstance(column, np.ndarray):
        column[row] = values
        return
    flat = flatten(values)
    for path, leaf in flatten(column).items():
        leaf[row] = flat[path]
