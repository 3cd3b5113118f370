"""What acting costs (figure 5b of the RLgraph paper): greedy actions, numpy in and numpy out.

With the plan, and routed through the components without it, against hand-written torch and a
hand-written tf.function. The difference between the first two is what edge contraction saves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rlg.bench.measuring import Cost, blocks_of, interleave, single_calls
from rlg.bench.results import Row
from rlg.bench.running import Settings
from rlg.bench.suites.models import STATES, acting, handwritten_acting

BATCHES = (1, 4, 16, 64, 256)
QUICK = (1, 16, 64)
NAMES = {"mlp": "MLP", "cnn": "Nature CNN"}
HAND = "by hand"


def measure(settings: Settings) -> Iterator[Row]:
    """Networks, batch sizes and backends."""
    for backend in settings.frameworks():
        for kind in NAMES:
            yield from _network(backend, kind, settings)


def _network(backend: str, kind: str, settings: Settings) -> Iterator[Row]:
    plan, routed = f"rlg {backend}", f"rlg {backend}, no plan"
    functions = {
        plan: acting(backend, kind),
        routed: acting(backend, kind, define_by_run=True),
        HAND: handwritten_acting(backend, kind),
    }
    for batch in settings.choose(QUICK, BATCHES):
        states = np.asarray(STATES[kind].sample(0, batch=batch))
        calls = {name: partial(function, states) for name, function in functions.items()}
        found = interleave(blocks_of(calls, settings.block), settings.rounds(15, 31))
        case = f"{NAMES[kind]}, batch {batch}"
        yield from _rows(case, found)
        if batch == 1 and settings.full:
            singles = {name: single_calls(calls[name]) for name in (plan, HAND)}
            tails = interleave(singles, settings.rounds(5, 11))
            note = "wall is the 99th percentile of single calls"
            yield from (replace(row, note=note) for row in _rows(f"{case}, p99", tails))


def _rows(case: str, found: dict[str, list[Cost]]) -> Iterator[Row]:
    others: Any = tuple(found[HAND])
    for name, costs in found.items():
        if name != HAND:
            yield Row(case, name, HAND, "call", tuple(costs), others)
