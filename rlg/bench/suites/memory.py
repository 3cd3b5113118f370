"""Prioritized replay against cpprb.

One cycle inserts 64 records with priorities, samples 512 with importance weights and updates their
priorities, through `execute` with numpy in and out. Both sides hold full memories and take turns in
one process. Atari: stacks of four 84x84 frames; ours keeps each frame once, cpprb both stacks. Our
insert takes a step of 64 environments with both stacks, as cpprb's does: the adder is part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.bench.measuring import blocks_of, interleave
from rlg.bench.results import Row
from rlg.bench.running import Settings
from rlg.errors import pip_install
from rlg.execution.adders import Frames
from rlg.graph.components.memories.frames import FrameReplay
from rlg.graph.components.memories.prioritized import PrioritizedReplay
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox

INSERT, SAMPLE = 64, 512
ALPHA, BETA = 0.6, 0.4
CYCLE = {"insert": INSERT, "sample": SAMPLE, "update": SAMPLE}
MISSING = f"cpprb is missing: {pip_install('peers')} -c constraints.txt"
Cycle = Callable[[], object]
Made = Callable[[dict[str, Any]], dict[str, Any]]


def record_space(shape: tuple[int, ...], dtype: str) -> Dict:
    """Transitions of one observation shape."""
    return Dict(
        states=Box(shape, dtype),
        actions=IntBox(6),
        rewards=FloatBox(),
        terminals=BoolBox(),
        next_states=Box(shape, dtype),
    )


SMALL, ATARI = record_space((4,), "float32"), record_space((84, 84, 4), "uint8")


class FrameSteps:
    """Steps of all environments as records of frames: what an agent's adder does."""

    def __init__(self) -> None:
        self._adder = Frames(1, 4)
        self._ends = np.zeros((1, INSERT), bool)

    def space(self) -> Dict:
        """What comes out."""
        return self._adder.stored(dict(ATARI.items()))

    def __call__(self, records: dict[str, Any]) -> dict[str, Any]:
        """One step: there are no windows to wait for."""
        steps = {name: column[None] for name, column in records.items()}
        (batch,) = self._adder.batches({**steps, "truncations": self._ends})
        columns = {name: x[0] for name, x in batch.records["steps"].items()}
        del columns["truncations"]
        return {"rows": batch.records["rows"], **columns}


def our_cycle(executor: GraphExecutor, records: dict[str, Any], made: Made = dict) -> Cycle:
    """The cycle through an executor."""
    rng = np.random.default_rng(0)
    priorities = rng.random(INSERT, dtype=np.float32)
    td_errors = rng.random(SAMPLE, dtype=np.float32)
    beta, execute = np.asarray(BETA, np.float32), executor.execute

    def cycle() -> None:
        execute("insert", made(records), priorities)
        _, rows, _ = execute("sample", SAMPLE, beta)
        execute("update", rows, td_errors)

    return cycle


def their_cycle(memory: Any, records: dict[str, Any]) -> Cycle:
    """The same with cpprb."""
    rng = np.random.default_rng(0)
    priorities = rng.random(INSERT, dtype=np.float32)
    td_errors = rng.random(SAMPLE, dtype=np.float32)

    def cycle() -> None:
        memory.add(**records, priorities=priorities)
        sample = memory.sample(SAMPLE, beta=BETA)
        memory.update_priorities(sample["indexes"], td_errors)

    return cycle


def make_cpprb(space: Dict, capacity: int) -> Any:
    """A prioritized buffer of cpprb with the same columns, or None where it isn't installed."""
    try:
        from cpprb import PrioritizedReplayBuffer
    except ImportError:
        return None
    columns = {
        str(name): {"shape": box.shape or 1, "dtype": box.dtype}
        for (name,), box in space.flatten().items()
    }
    return PrioritizedReplayBuffer(capacity, columns, alpha=ALPHA)


def make_ours(memory: Any, space: Dict, backend: str, capacity: int) -> GraphExecutor:
    """A built memory."""
    executor = make_executor(backend)
    numbers = FloatBox()
    spaces = {"records": space, "priorities": numbers, "td_errors": numbers}
    keys, beta = IntBox(), FloatBox(0.0, 1.0, ranks="")
    executor.build(memory, {**spaces, "keys": keys, "beta": beta})
    return executor


def fill(insert: Callable[..., object], space: Dict, capacity: int, step: int) -> dict[str, Any]:
    """Fills a memory and gives the records that the cycle inserts."""
    rng = np.random.default_rng(1)
    records: dict[str, Any] = space.sample(0, step)
    records["terminals"] = np.zeros(step, bool)
    for _ in range(capacity // step + 1):
        insert(records, rng.random(step, dtype=np.float32) + 0.01)
    return {name: column[:INSERT] for name, column in records.items()}


def measure(settings: Settings) -> Iterator[Row]:
    """Small records at several capacities, and stacks of frames."""
    runs = [("small", n) for n in settings.choose([100_000], [10_000, 100_000, 1_000_000])]
    runs.append(("atari", settings.choose(5_000, 20_000)))
    for kind, capacity in runs:
        for backend in settings.backends:
            yield row(kind, backend, capacity, settings)


def row(kind: str, backend: str, capacity: int, settings: Settings) -> Row:
    """Ours against cpprb's, and for images how many frames ours keeps for each transition."""
    is_atari = kind == "atari"
    case = f"{'Atari stacks' if is_atari else 'small records'}, capacity {capacity:,}"
    names = case, f"rlg {backend}", "cpprb", "cycle"
    space = ATARI if is_atari else SMALL
    theirs = make_cpprb(space, capacity)
    if theirs is None:
        return Row(*names, missing=MISSING)
    memory: Any = (
        FrameReplay(capacity, INSERT, alpha=ALPHA)
        if is_atari
        else PrioritizedReplay(capacity, alpha=ALPHA)
    )
    frames = FrameSteps()
    made: Made = frames if is_atari else dict
    ours = make_ours(memory, frames.space() if is_atari else space, backend, capacity)
    step = INSERT if is_atari else min(capacity, 5000)
    records = fill(lambda r, p: ours.execute("insert", made(r), p), space, capacity, step)
    fill(lambda r, p: theirs.add(**r, priorities=p), space, capacity, step)
    cycles = {"ours": our_cycle(ours, records, made), "theirs": their_cycle(theirs, records)}
    found = interleave(blocks_of(cycles, 2.5 * settings.block), settings.rounds(15, 41))
    kept = memory.buffer_size / float(ours.execute("size")) if is_atari else 0.0
    note = f"{kept:.2f} frames kept per transition; cpprb keeps 8" if is_atari else ""
    costs, others = tuple(found["ours"]), tuple(found["theirs"])
    return Row(*names, costs, others, settings=CYCLE, note=note)
