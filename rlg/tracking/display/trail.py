"""The course of a figure over a whole run, in a few dozen numbers, drawn as one line of bars."""

from __future__ import annotations

import math
from itertools import pairwise

_BARS = "▁▂▃▄▅▆▇█"


class Trail:
    """Keeps at most `most` means over equally many values each: when full, pairs become one."""

    def __init__(self, most: int = 128) -> None:
        self._most = most - most % 2
        self._share = 1  # values in each mean
        self._means: list[float] = []
        self._rest: list[float] = []

    def add(self, value: float | None) -> None:
        if value is None or not math.isfinite(value):
            return
        self._rest.append(value)
        if len(self._rest) < self._share:
            return
        self._means.append(sum(self._rest) / self._share)
        self._rest.clear()
        if len(self._means) == self._most:
            pairs = zip(self._means[::2], self._means[1::2], strict=True)
            self._means = [(a + b) / 2 for a, b in pairs]
            self._share *= 2

    @property
    def means(self) -> list[float]:
        return list(self._means)

    def bars(self, width: int) -> str:
        """One character for each of `width` columns, from the lowest to the highest mean."""
        means = _resampled(self._means, width)
        if not means:
            return ""
        low, span = min(means), max(means) - min(means)
        top = len(_BARS) - 1
        return "".join(_BARS[round(top * (mean - low) / span) if span else 0] for mean in means)


def _resampled(values: list[float], width: int) -> list[float]:
    """At most `width` values: means of neighbours where there are more."""
    if len(values) <= width:
        return values
    edges = [index * len(values) // width for index in range(width + 1)]
    return [sum(values[start:end]) / (end - start) for start, end in pairwise(edges)]
