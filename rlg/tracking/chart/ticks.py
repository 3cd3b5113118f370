"""Places and names of ticks: round numbers, and no more digits than tell them apart."""

from __future__ import annotations

import math

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def ticks(low: float, high: float, count: int = 6) -> list[float]:
    """About this many round numbers from low to high."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in STEPS if s * power >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(n * step, 12) + 0.0 for n in range(first, last + 1)]


def names(values: list[float]) -> list[str]:
    """With k, M or G where all are large; equally many decimals for all."""
    largest = max((abs(value) for value in values), default=0.0)
    size, unit = next(((s, u) for s, u in UNITS if largest >= 10 * s or largest == s), (1.0, ""))
    scaled = [value / size for value in values]
    digits = next(
        (d for d in range(7) if all(abs(v - round(v, d)) < 1e-9 * max(1, largest) for v in scaled)),
        7,
    )
    return ["0" if value == 0 else f"{value:.{digits}f}{unit}" for value in scaled]


def padded(low: float, high: float) -> tuple[float, float]:
    """A range with some room above and below; zero stays the edge where nothing is below it."""
    if low == high:
        room = abs(low) * 0.1 or 1.0
        return low - room, high + room
    room = 0.05 * (high - low)
    return (0.0 if 0 <= low < 0.5 * high else low - room), high + room
