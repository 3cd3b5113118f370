"""What schedules share: a value at a time, in the graph and in Python."""

from __future__ import annotations

from rlg.errors import ComponentError
from rlg.graph import Component, Tensor, api, graph_fn


class Schedule(Component):
    """A number that depends on time.

    time: float or int of any shape, in the unit of `length` (steps, or shares of a run); value:
    float32 of the same shape. `at(time)` is the same in Python, for hosts.
    """

    @api
    @graph_fn
    def value(self, time: Tensor) -> Tensor:
        return self._curve(self.ops.cast(time, "float32"))

    def at(self, time: float) -> float:
        """The value at a time, in Python."""
        raise NotImplementedError

    def _curve(self, time: Tensor) -> Tensor:
        raise NotImplementedError


class Ramp(Schedule):
    """Goes from `initial` to `final` in the time from `start` to `start + length`; flat outside."""

    def __init__(
        self, initial: float = 1.0, final: float = 0.0, start: float = 0.0, length: float = 1.0
    ) -> None:
        self.initial = initial
        self.final = final
        self.start = start
        self.length = length
        if length <= 0:
            raise ComponentError(
                f"{type(self).__name__}: length is {length}; give a positive time, 1.0 where time "
                "is the share of a run."
            )

    def at(self, time: float) -> float:
        return self._at(min(max((time - self.start) / self.length, 0.0), 1.0))

    def _curve(self, time: Tensor) -> Tensor:
        return self._shape(self.ops.clip((time - self.start) / self.length, 0.0, 1.0))

    def _at(self, share: float) -> float:
        """The value when this share of the way is gone, in Python."""
        raise NotImplementedError

    def _shape(self, share: Tensor) -> Tensor:
        raise NotImplementedError
