"""Interleaved blocks: contenders take turns, so that all of them see the same machine."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Cost(NamedTuple):
    """Seconds per unit of work: a call, a step, a build."""

    wall: float
    cpu: float  # of all threads


class Absent(Exception):  # noqa: N818 - it need not be an error
    """A contender that is not there, or not any more."""


Block = Callable[[], Cost]  # does one block of work


def timed(function: Callable[[], object], calls: int = 1, units: int = 1) -> Cost:
    """The mean over one block of calls, each of so many units, without garbage collection."""
    gc.disable()
    try:
        started, used = time.perf_counter(), time.process_time()
        for _ in range(calls):
            function()
        wall, cpu = time.perf_counter() - started, time.process_time() - used
        return Cost(wall / (calls * units), cpu / (calls * units))
    finally:
        gc.enable()


def calls_in(function: Callable[[], object], seconds: float) -> int:
    """How many calls fill a block of so many seconds."""
    function()
    return max(1, int(seconds / max(timed(function, 3).wall, 1e-7)))


def block_of(function: Callable[[], object], calls: int = 1, units: int = 1) -> Block:
    """Blocks of one function."""
    return lambda: timed(function, calls, units)


def blocks_of(functions: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, Block]:
    """Blocks with equal numbers of calls; the last one, usually the opponent, fills the time."""
    calls = calls_in(list(functions.values())[-1], seconds)
    return {name: block_of(function, calls) for name, function in functions.items()}


def single_calls(function: Callable[[], object], calls: int = 300) -> Block:
    """Blocks whose wall time is the 99th percentile of single calls."""

    def block() -> Cost:
        clock, times, used = time.perf_counter, [], time.process_time()
        for _ in range(calls):
            started = clock()
            function()
            times.append(clock() - started)
        return Cost(sorted(times)[int(calls * 0.99)], (time.process_time() - used) / calls)

    return block


def interleave(blocks: Mapping[str, Block], rounds: int) -> dict[str, list[Cost]]:
    """The costs of each contender, round by round; a first round warms up and is not kept.

    Whoever goes first finds a colder cache: they take turns in that too. A contender that is
    absent, or that dies on the way, is not in what is found.
    """
    names = list(blocks)
    gc.collect()
    found: dict[str, list[Cost]] = {name: [] for name in names}
    for round_ in range(rounds + 1):
        first = round_ % len(names)
        for name in [name for name in names[first:] + names[:first] if name in found]:
            try:
                cost = blocks[name]()
            except Absent:
                del found[name]
                continue
            if round_:
                found[name].append(cost)
    return found
