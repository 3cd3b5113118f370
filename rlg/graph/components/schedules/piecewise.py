"""Straight lines between points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from rlg.errors import ComponentError
from rlg.graph import Tensor
from rlg.graph.components.schedules.schedule import Schedule


class PiecewiseSchedule(Schedule):
    """Goes through `points`, [time, value] each with growing times; flat before and after.

    time and value: see Schedule. Between points it is linear, or without `interpolate` stays at the
    value of the last point.
    """

    def __init__(self, points: Sequence[Sequence[float]], interpolate: bool = True) -> None:
        self.points = [(float(time), float(value)) for time, value in points]
        self.interpolate = interpolate
        times = [time for time, _ in self.points]
        if not times or any(late <= early for early, late in pairwise(times)):
            raise ComponentError(
                f"PiecewiseSchedule: points are {self.points}; give [time, value] pairs with "
                "growing times, as in [[0, 1.0], [1000, 0.1]]."
            )

    def at(self, time: float) -> float:
        times, values = zip(*self.points, strict=True)
        if self.interpolate:
            return float(np.interp(time, times, values))
        return float(values[max(int(np.searchsorted(times, time, "right")) - 1, 0)])

    def _curve(self, time: Tensor) -> Tensor:
        ops = self.ops
        value = ops.zeros_like(time) + self.points[0][1]
        ends = [*self.points[1:], self.points[-1]]
        for (start, first), (end, last) in zip(self.points, ends, strict=True):
            piece = first + ops.zeros_like(time)
            if self.interpolate and end > start:
                piece = first + (last - first) * ((time - start) / (end - start))
            value = ops.where(time >= start, piece, value)
        return value
