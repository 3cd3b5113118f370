"""Whether rows of two runs differ by more than chance, for a whole table at once.

The processes of a run are its independent measurements, and each has one number for each row: the
logarithm of its median ratio. Two runs are compared by Student's test of two means. A table has
dozens of rows, and at 5 % each some row would nearly always stand out. So Holm's rule (1979)
divides the 5 % among all rows: equal code is called slower somewhere in one table of 20 at most,
whatever the rows have in common.

Four processes may agree by luck, or because each of them fell into the same one of two states of
the machine. So no row counts as quieter than half of the others, nor than 1 %.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from rlg.bench.results import LEAST, Clock, Row

ERROR = 0.05  # of calling something in a table slower (or faster) that is not
CLOCKS: tuple[Clock, Clock] = ("wall", "cpu")


class Change(NamedTuple):
    """How far the means of two runs are apart, and the deviation between processes of one run."""

    size: float
    deviation: float
    freedom: int  # degrees of it: processes of both runs, less two
    share: float  # of the deviation that the difference of two means has

    def chance(self, least: float) -> float:
        """How likely a change this large, upwards, is by luck, if processes differ by `least`."""
        if not math.isfinite(self.size) or self.size <= 2 * LEAST:
            return 1.0
        return tail(self.size / (max(self.deviation, least) * self.share), self.freedom)


def slower(pairs: Sequence[tuple[Row, Row]]) -> list[bool]:
    """Which rows (before, now) of a table take longer now, by wall time and by CPU time."""
    if not pairs:
        return []
    by_clock = [_chances([_change(old, new, clock) for old, new in pairs]) for clock in CLOCKS]
    # Both clocks have to say so: what else runs delays one side, but does its work for neither.
    return holm([max(chances) for chances in zip(*by_clock, strict=True)])


def holm(chances: Sequence[float], error: float = ERROR) -> list[bool]:
    """Which of them are not by luck: the least of n has to be below error / n, the next below
    error / (n - 1), and so on up to the first that is not.
    """
    found = [False] * len(chances)
    for place, index in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if chances[index] > error / (len(chances) - place):
            break
        found[index] = True
    return found


def tail(t: float, freedom: int) -> float:
    """How often Student's t is above this (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(freedom))
    square, is_odd = math.cos(angle) ** 2, freedom % 2
    term = math.sin(angle) * (math.cos(angle) if is_odd else 1.0)
    total = 0.0
    for n in range(1 + is_odd, freedom, 2):
        total += term
        term *= square * n / (n + 1)
    inside = 2 / math.pi * (angle + total) if is_odd else total
    return (1 - inside) / 2


def _chances(changes: Sequence[Change | bool]) -> list[float]:
    known = [change.deviation for change in changes if isinstance(change, Change)]
    least = max(LEAST, statistics.median(known)) if known else LEAST
    return [
        change.chance(least) if isinstance(change, Change) else 0.0 if change else 1.0
        for change in changes
    ]


def _change(old: Row, new: Row, clock: Clock) -> Change | bool:
    """Of runs of one process each nobody knows how much processes differ: whether their spreads,
    which allow for that, leave a gap.
    """
    scale = old.median("costs", clock) if old.kind == "difference" else None
    before, now = _levels(old, clock, scale), _levels(new, clock, scale)
    freedom = len(before) + len(now) - 2
    if not freedom:
        return new.compared(clock).low > old.compared(clock).high
    means = statistics.fmean(before), statistics.fmean(now)
    squares = sum((x - means[0]) ** 2 for x in before) + sum((x - means[1]) ** 2 for x in now)
    share = math.sqrt(1 / len(before) + 1 / len(now))
    return Change(means[1] - means[0], math.sqrt(squares / freedom), freedom, share)


def _levels(row: Row, clock: Clock, scale: float | None) -> list[float]:
    """One number for each process: the logarithm of a ratio, a difference as a share of `scale`."""
    middles = [statistics.median(group) for group in row.samples(clock)]
    if scale is not None:
        return [middle / max(scale, 1e-12) for middle in middles]
    return [math.log(max(middle, 1e-12)) for middle in middles]
