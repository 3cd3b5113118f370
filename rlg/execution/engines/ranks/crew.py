"""One rank among others: what it averages with them, agrees on with them, and tells them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rlg.errors import ExecutionError
from rlg.execution.engines.ranks.collective import Collective
from rlg.execution.roles import Stop, never


class Report(NamedTuple):
    """What a round brought on one rank."""

    returns: list[float]
    lengths: list[int]
    train: dict[str, float]


class Commands(Protocol):
    """Rank 0's channel to the others, which follow."""

    def command(self, name: str, *args: Any, to: int | None = None) -> None:
        """All others, or one of them, are to do this."""

    def reports(self) -> list[Any]:
        """What each of the others has to say, by rank. Waits for them."""

    def hurry(self) -> None:
        """Others need not complete what they are sampling."""

    def explained(self, error: Exception) -> ExecutionError:
        """Which rank is gone, and why."""

    def close(self) -> None: ...


class Orders(Protocol):
    """A follower's channel to rank 0, which commands."""

    def receive(self) -> tuple[str, tuple[Any, ...]]:
        """The next command. Waits for it."""

    def report(self, value: Any) -> None: ...

    def is_hurried(self) -> bool:
        """Whether nobody waits for the round to be complete."""

    def close(self) -> None: ...


class Crew:
    """Averages and agreements of one rank with all others."""

    def __init__(self, collective: Collective, channel: Commands | Orders) -> None:
        self.collective = collective
        self.channel: Any = channel  # Commands on rank 0, Orders on the others
        self.rank = collective.rank
        self.size = collective.size
        self.wish: Stop = never  # whether this rank wants the round to end
        self.seconds = 0.0  # in reductions, the waiting for others included
        self._is_stopped = False

    def average(self, arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Means over all ranks: one flat buffer, at whose end travels the wish to stop."""
        sizes = [array.size for array in arrays]
        buffer = np.empty(sum(sizes) + 1, np.result_type(np.float32, *arrays))
        np.concatenate([*(np.ravel(array) for array in arrays), [self.wish()]], out=buffer)
        begun = time.perf_counter()
        self.collective.mean(buffer)
        self.seconds += time.perf_counter() - begun
        self._is_stopped = bool(buffer[-1] > 0)
        parts = np.split(buffer[:-1], np.cumsum(sizes[:-1]))
        pairs = zip(parts, arrays, strict=True)
        return [part.reshape(array.shape).astype(array.dtype, copy=False) for part, array in pairs]

    def is_stopped(self) -> bool:
        """Whether some rank wished to stop at the last average: all of them know the same."""
        return self._is_stopped

    def begin_round(self, wish: Stop) -> None:
        self.wish, self._is_stopped = wish, False

    def any(self, *flags: bool) -> list[bool]:
        """For each flag whether some rank has it."""
        buffer = np.array(flags, np.float32)
        begun = time.perf_counter()
        self.collective.most(buffer)
        self.seconds += time.perf_counter() - begun
        return [bool(value) for value in buffer]

    def close(self) -> None:
        self.channel.close()
        self.collective.close()
