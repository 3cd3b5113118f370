"""Interleaved pairs: two contenders take turns in one process and see the same machine."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Comparison:
    """Seconds of ours and theirs, and the ratio with its spread over the pairs."""

    ours: float
    theirs: float
    ratio: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.ratio:.2f}x [{self.low:.2f}, {self.high:.2f}]"


def seconds_per_call(function: Callable[[], object], calls: int) -> float:
    """The mean over one block of calls, without garbage collection in between."""
    clock = time.perf_counter
    gc.disable()
    try:
        started = clock()
        for _ in range(calls):
            function()
        return (clock() - started) / calls
    finally:
        gc.enable()


def compare(
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    pairs: int = 21,
    block: float = 0.02,
) -> Comparison:
    """Medians over interleaved pairs of blocks; the spread is the quartiles of the ratios."""
    ours(), theirs()
    calls = max(1, int(block / max(seconds_per_call(theirs, 3), 1e-7)))
    seconds_per_call(ours, calls), seconds_per_call(theirs, calls)
    rows = []
    for pair in range(pairs):
        # Whoever goes first finds a colder cache: they take turns in that too.
        if pair % 2:
            mine, other = seconds_per_call(ours, calls), seconds_per_call(theirs, calls)
        else:
            other, mine = seconds_per_call(theirs, calls), seconds_per_call(ours, calls)
        rows.append((mine, other))
    ratios = sorted(mine / other for mine, other in rows)
    low, middle, high = statistics.quantiles(ratios, n=4)
    return Comparison(
        statistics.median(mine for mine, _ in rows),
        statistics.median(other for _, other in rows),
        middle,
        low,
        high,
    )


def percentiles(function: Callable[[], object], calls: int = 2000) -> tuple[float, float]:
    """p50 and p99 of single calls, in seconds."""
    clock = time.perf_counter
    function()
    times = []
    for _ in range(calls):
        started = clock()
        function()
        times.append(clock() - started)
    times.sort()
    return times[len(times) // 2], times[int(len(times) * 0.99)]
