"""No change at all."""

from __future__ import annotations

from rlg.graph import Tensor
from rlg.graph.components.schedules.schedule import Schedule


class ConstantSchedule(Schedule):
    """Always `constant`. time and value: see Schedule."""

    def __init__(self, constant: float) -> None:
        self.constant = constant

    def at(self, time: float) -> float:
        return float(self.constant)

    def _curve(self, time: Tensor) -> Tensor:
        return self.ops.zeros_like(time) + self.constant
