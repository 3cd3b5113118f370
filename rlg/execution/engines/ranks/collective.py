"""What processes do together: reductions over all of them, on arrays of this machine's memory."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any, Protocol

from numpy.typing import NDArray

from rlg.errors import ExecutionError

MEETING = 60.0  # seconds for ranks to find each other, at least: they start with equal steps


class RankLostError(ExecutionError):
    """Another rank is gone, or did not come within the time-out."""


class DeadRankError(ExecutionError):
    """Says which rank died, failed or hung; started again, the run can be resumed."""


class Collective(Protocol):
    """Every rank makes the same calls in the same order, with arrays of equal shapes.

    A rank that can't be reached any more is a RankLostError.
    """

    rank: int
    size: int

    def mean(self, buffer: NDArray[Any]) -> None:
        """Overwrites a flat array by its mean over all ranks."""

    def most(self, buffer: NDArray[Any]) -> None:
        """Overwrites a flat array by its largest values over all ranks."""

    def close(self) -> None: ...


class GlooCollective:
    """By torch's gloo, over TCP."""

    def __init__(self, store: Any, rank: int, size: int, timeout: float) -> None:
        """`store` is one of torch's, through which ranks find each other; `timeout` in seconds."""
        import torch
        from torch import distributed

        self.rank = rank
        self.size = size
        self._torch, self._ops = torch, distributed.ReduceOp
        self._options = distributed.AllreduceOptions
        self._timeout = timedelta(seconds=timeout)
        try:
            self._group: Any = distributed.ProcessGroupGloo(
                store, rank, size, timedelta(seconds=max(timeout, MEETING))
            )
        except RuntimeError as error:
            raise RankLostError(_reason(error)) from error

    def mean(self, buffer: NDArray[Any]) -> None:
        self._reduce(buffer, self._ops.SUM)
        buffer /= self.size

    def most(self, buffer: NDArray[Any]) -> None:
        self._reduce(buffer, self._ops.MAX)

    def _reduce(self, buffer: NDArray[Any], how: Any) -> None:
        options = self._options()
        options.reduceOp, options.timeout = how, self._timeout
        try:
            self._group.allreduce([self._torch.from_numpy(buffer)], options).wait()
        except RuntimeError as error:
            raise RankLostError(_reason(error)) from error

    def close(self) -> None:
        self._group = None


def _reason(error: Exception) -> str:
    """One sentence, without the place in gloo's source."""
    return re.sub(r"^\[\S+\] ", "", str(error)).split(". ")[0].strip() or type(error).__name__
