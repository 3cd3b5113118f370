"""Milliseconds per call, after the first calls have made their plans."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from rlg.testing.check.calls import APICall
from rlg.testing.check.instance import Instance

SECONDS, PASSES = 0.15, 20


def milliseconds(
    instance: Instance, calls: Sequence[APICall], inputs: Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    """The median of some passes through all calls, each from the first state."""
    found: dict[str, list[float]] = {}
    until = time.perf_counter() + SECONDS
    for number in range(PASSES):
        instance.reset()
        for call, values in zip(calls, inputs, strict=True):
            if not instance.can_make(call):
                continue
            started = time.perf_counter()
            instance.call(call, values)
            found.setdefault(call.label, []).append(time.perf_counter() - started)
        if number and time.perf_counter() > until:
            break
    return {label: 1_000 * median(times) for label, times in found.items()}
