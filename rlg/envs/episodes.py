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


class Ages:
    """How many steps ago something began in each of N environments: a step is one count for all."""

    def __init__(self, num_envs: int) -> None:
        self._now = 0
        self._began = np.zeros(num_envs, np.int64)
        self._earliest = 0

    @property
    def values(self) -> Rows:
        """Of each environment."""
        return self._now - self._began

    @property
    def longest(self) -> int:
        """The largest of them."""
        return self._now - self._earliest

    def tick(self) -> None:
        """Counts one step of all environments."""
        self._now += 1

    def load(self, values: Any, rows: Any = slice(None)) -> None:
        """Sets those of these environments; 0 where something begins now."""
        self._began[rows] = self._now - values
        self._earliest = int(self._began.min())


class Episodes:
    """The running episode of each of N environments."""

    def __init__(self, num_envs: int, seed: int) -> None:
        self.seed = seed
        self.numbers = np.full(num_envs, -1, np.int64)
        self.returns = np.zeros(num_envs, np.float64)
        self._ages = Ages(num_envs)

    @property
    def started(self) -> bool:
        return bool(self.numbers[0] >= 0)

    @property
    def lengths(self) -> Rows:
        """Steps so far of the running episodes."""
        return self._ages.values

    @property
    def longest(self) -> int:
        """Steps so far of the longest one."""
        return self._ages.longest

    def begin(self, rows: Rows | slice = slice(None)) -> None:
        """Counts the next episode of these environments."""
        self.numbers[rows] += 1
        self.returns[rows] = 0.0
        self._ages.load(0, rows)

    def add(self, rewards: NDArray[Any]) -> None:
        """Counts one step of all environments."""
        self.returns += rewards
        self._ages.tick()

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
            "lengths": self.lengths,
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self.seed = int(snapshot["seed"])
        self.numbers[:] = snapshot["episodes"]
        self.returns[:] = snapshot["returns"]
        self._ages.load(np.asarray(snapshot["lengths"]))
