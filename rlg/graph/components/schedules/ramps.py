"""Ways from one number to another."""

from __future__ import annotations

import math

from rlg.errors import ComponentError
from rlg.graph import Tensor
from rlg.graph.components.schedules.schedule import Ramp, Schedule


class LinearSchedule(Ramp):
    """initial + (final - initial) * s, s the share of `length` that is gone; flat outside.

    time and value: see Schedule.
    """

    def _at(self, share: float) -> float:
        return self.initial * (1.0 - share) + self.final * share

    def _shape(self, share: Tensor) -> Tensor:
        return self.initial * (1.0 - share) + self.final * share


class PolynomialSchedule(Ramp):
    """final + (initial - final) * (1 - s)^power, s the share of `length` that is gone.

    time and value: see Schedule.
    """

    def __init__(
        self,
        initial: float = 1.0,
        final: float = 0.0,
        start: float = 0.0,
        length: float = 1.0,
        power: float = 2.0,
    ) -> None:
        super().__init__(initial, final, start, length)
        self.power = power
        if power <= 0:
            raise ComponentError(f"PolynomialSchedule: power must be positive, got {power}.")

    def _at(self, share: float) -> float:
        return float(self.final + (self.initial - self.final) * (1.0 - share) ** self.power)

    def _shape(self, share: Tensor) -> Tensor:
        return self.final + (self.initial - self.final) * self.ops.power(1.0 - share, self.power)


class ExponentialSchedule(Ramp):
    """initial * (final / initial)^s, s the share of `length` that is gone: equal factors.

    time and value: see Schedule. Both ends are positive.
    """

    def __init__(
        self, initial: float = 1.0, final: float = 0.01, start: float = 0.0, length: float = 1.0
    ) -> None:
        super().__init__(initial, final, start, length)
        if min(initial, final) <= 0:
            raise ComponentError(
                f"ExponentialSchedule: it goes from {initial} to {final}; both must be positive. "
                "Use half_life to approach 0."
            )

    def _at(self, share: float) -> float:
        return float(self.initial * (self.final / self.initial) ** share)

    def _shape(self, share: Tensor) -> Tensor:
        return self.initial * self.ops.exp(math.log(self.final / self.initial) * share)


class HalfLifeSchedule(Schedule):
    """Halves the distance from `initial` to `final` in each `half_life` after `start`.

    time and value: see Schedule.
    """

    def __init__(
        self, initial: float = 1.0, half_life: float = 1.0, final: float = 0.0, start: float = 0.0
    ) -> None:
        self.initial = initial
        self.half_life = half_life
        self.final = final
        self.start = start
        if half_life <= 0:
            raise ComponentError(f"HalfLifeSchedule: half_life must be positive, got {half_life}.")

    def at(self, time: float) -> float:
        halvings = max(time - self.start, 0.0) / self.half_life
        return float(self.final + (self.initial - self.final) * 0.5**halvings)

    def _curve(self, time: Tensor) -> Tensor:
        halvings = self.ops.relu(time - self.start) / self.half_life
        return self.final + (self.initial - self.final) * self.ops.exp(-math.log(2.0) * halvings)
