"""Means over processes, on the edge between `gradients` and `apply`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from rlg.graph import Component, Tensor, api, host_fn
from rlg.graph.spaces import Space, flatten, unflatten


class Averaging(Protocol):
    """What connects this process with others that run the same graph."""

    def average(self, arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Means over all processes; each of them makes the same calls in the same order."""


class Average(Component):
    """Averages values over processes; values: any floats, nested.

    All leaves travel together, in one exchange per call.
    """

    def __init__(self, others: Averaging) -> None:
        self._others = others

    def _same(self, values: Space) -> Space:
        return values

    @api
    @host_fn(spaces=_same)
    def average(self, values: Tensor) -> Tensor:
        leaves: dict[Any, Any] = flatten(values)
        means = self._others.average(list(leaves.values()))
        return unflatten(dict(zip(leaves, means, strict=True)))
