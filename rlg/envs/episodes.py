"""Counters of the running episodes: number, return and length, and the seeds that go with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.envs.seeds import episode_seed

Rows = NDArray[np.int64]

NO_RETURNS = np.empty(0, np.float64)
NO_ROWS = np.empty(0, np.int64)


class Episodes:
    """The running episode of each of N environments."""

    def __init__(self, num_envs: int, seed: int) -> None:
        self.seed = seed
        self.numbers = np.full(num_envs, -1, np.int64)
        self.returns = np.zeros(num_envs, np.float64)
        self.lengths = np.zeros(num_envs, np.int64)

    @property
    def started(self) -> bool:
        return bool(self.numbers[0] >= 0)

    def begin(self, rows: Rows | slice = slice(None)) -> None:
        """Counts the next episode of these environments."""
        self.numbers[rows] += 1
        self.returns[rows] = 0.0
        self.lengths[rows] = 0

    def add(self, rewards: NDArray[Any]) -> None:
        """Counts one step of all environments."""
        self.returns += rewards
        self.lengths += 1

    def finish(self, rows: Rows) -> tuple[NDArray[np.float64], Rows]:
        """Returns and lengths of the episodes that ended, and begins the next ones."""
        if not rows.size:
            return NO_RETURNS, NO_ROWS
        ended = self.returns[rows], self.lengths[rows]
        self.begin(rows)
        return ended

    def seed_of(self, row: int) -> int:
        """The seed of the running episode."""
        return episode_seed(self.seed, row, int(self.numbers[row]))

    def snapshot(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "episodes": self.numbers.copy(),
            "returns": self.returns.copy(),
            "lengths": self.lengths.copy(),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self.seed = int(snapshot["seed"])
        self.numbers[:] = snapshot["episodes"]
        self.returns[:] = snapshot["returns"]
        self.lengths[:] = snapshot["lengths"]
