"""The contract: what a vector environment does, and what one of its steps returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rlg.envs.episodes import Episodes
from rlg.errors import EnvironmentFailure, SpecError
from rlg.graph.spaces import Space


class Step(NamedTuple):
    """What one step of N environments returns.

    No array is written to again, so callers may keep or change them. Where nothing ended,
    `final_observations` is the same object as `observations`.
    """

    observations: Any  # [N, ...]: of the next episode already where one ended
    rewards: NDArray[np.float32]  # [N]
    terminals: NDArray[np.bool_]  # [N]: the environment ended the episode
    truncations: NDArray[np.bool_]  # [N]: a time limit did; never together with a terminal
    final_observations: Any  # [N, ...]: true last ones where an episode ended, else observations
    episode_returns: NDArray[np.float64]  # [E]: unclipped, of the episodes that ended now
    episode_lengths: NDArray[np.int64]  # [E]: in steps, not frames
    ended: NDArray[np.int64]  # [E]: the environments of these episodes


class VectorEnv(ABC):
    """N environments of one kind, stepped together; those that end begin again in the same step.

    Equal root seeds and actions give equal runs; different root seeds share no episode.
    """

    kind: ClassVar[str]  # of the snapshots
    frame_skip: int = 1  # frames per step

    fps: float = 30.0  # of pictures

    def __init__(
        self,
        name: str,
        num_envs: int,
        seed: int,
        options: Mapping[str, Any],
        observation_space: Space,
        action_space: Space,
    ) -> None:
        self.name = name
        self.num_envs = num_envs
        self.options = dict(options)
        self.observation_space = observation_space  # ranks "B"
        self.action_space = action_space  # ranks "B"; discrete actions count from 0
        self._episodes = Episodes(num_envs, seed)

    @abstractmethod
    def reset(self) -> Any:
        """Begins the next episode everywhere and returns its first observations."""

    @abstractmethod
    def step(self, actions: Any) -> Step:
        """Steps all environments. Actions out of bounds are the policy's business, NaN refused."""

    @abstractmethod
    def snapshot(self) -> dict[str, Any]:
        """All it takes to resume exactly from here: numpy arrays and JSON values."""

    @abstractmethod
    def restore(self, snapshot: Mapping[str, Any]) -> Any:
        """Goes back to a snapshot, of another process too, and returns its observations."""

    @property
    def running(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Returns and lengths so far of the episodes under way, [N] each; not to be written to."""
        return self._episodes.returns, self._episodes.lengths

    def picture(self, observations: Any) -> NDArray[np.uint8]:
        """What the first environment looks like now, RGB [height, width, 3]."""
        raise SpecError(f"environment {self.name!r} has no picture of itself.")

    @abstractmethod
    def close(self) -> None:
        """Frees what the environments hold."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _require_start(self, what: str) -> None:
        if not self._episodes.started:
            raise EnvironmentFailure(f"{self.name}: {what}() before reset(); call reset() first.")

    def _identity(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "num_envs": self.num_envs,
            "options": {key: repr(value) for key, value in sorted(self.options.items())},
        }

    def _check_identity(self, snapshot: Mapping[str, Any]) -> None:
        for key, mine in self._identity().items():
            theirs = snapshot.get(key)
            if theirs != mine:
                raise EnvironmentFailure(
                    f"{self.name}: the snapshot's {key} is {theirs!r}, this environment's "
                    f"{mine!r}; make the environment as it was when the snapshot was taken."
                )

    def _failure(self, row: int, doing: str, error: Exception) -> EnvironmentFailure:
        episodes = self._episodes
        return EnvironmentFailure(
            f"{self.name}: environment {row}, episode {episodes.numbers[row]}, "
            f"step {episodes.lengths[row] + (doing == 'step')}: {doing} raised "
            f"{type(error).__name__}: {' '.join(str(error).split())}"
        )

    def _failure_of_all(self, doing: str, error: Exception) -> EnvironmentFailure:
        episodes = self._episodes
        return EnvironmentFailure(
            f"{self.name}: {doing} of {self.num_envs} environments in episodes "
            f"{episodes.numbers.tolist()} at steps {episodes.lengths.tolist()} raised "
            f"{type(error).__name__}: {' '.join(str(error).split())}"
        )
