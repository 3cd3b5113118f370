"""One sampler of Ape-X on Pong (figure 7a of the RLgraph paper), beside its ceiling.

A block is one task: acting, stepping, windows of n steps and their first priorities, as a worker
on Ray does it, without Ray. The ceiling steps ALE's own environment with a hand-written network and
records nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from rlg.bench.measuring import Block, block_of, interleave
from rlg.bench.peers import Opponent
from rlg.bench.results import Row
from rlg.bench.running import Settings
from rlg.bench.suites import pong
from rlg.execution.sampling import SteppingSampler
from rlg.execution.types import Clock

TASKS = ((1, 50), (4, 50))  # environments, steps of each
FULL = tuple((num_envs, steps) for steps in (50, 200, 1_000) for num_envs in (1, 4, 16))
RUNS = {50: 50, 200: 11, 1_000: 5}  # of the full form; long tasks are means of many steps anyway
OURS, CEILING, RLLIB = "rlg torch", "raw environment + bare network", "RLlib env runner"
FACTS = {"threads": 1, "frame_skip": pong.FRAME_SKIP}


def measure(settings: Settings) -> Iterator[Row]:
    """Numbers of environments and lengths of tasks."""
    if "torch" in settings.backends:
        for num_envs, steps in settings.choose(TASKS, FULL):
            yield from _rows(num_envs, steps, settings)


def _rows(num_envs: int, steps: int, settings: Settings) -> Iterator[Row]:
    units = num_envs * steps
    blocks: dict[str, Block] = {
        OURS: block_of(task(num_envs, steps), units=units),
        CEILING: block_of(pong.bare_worker(num_envs, steps), units=units),
    }
    numbers = {"num_envs": num_envs, "steps": steps}
    with Opponent("rllib_runner", numbers, wanted=settings.peers) as rllib:
        found = interleave({**blocks, RLLIB: rllib.block}, settings.rounds(4, RUNS.get(steps, 11)))
    case = f"{num_envs} environment{'s' if num_envs > 1 else ''}, tasks of {steps} steps"
    mine = tuple(found[OURS])
    ceiling = Row(case, OURS, CEILING, "step", mine, tuple(found[CEILING]), clock="cpu")
    yield replace(ceiling, settings=FACTS, is_ceiling=True)
    row = Row(case, OURS, RLLIB, "step", settings=FACTS)
    if RLLIB not in found:
        yield replace(row, missing=rllib.missing)
    else:
        yield replace(row, costs=mine, others=tuple(found[RLLIB]), note=rllib.described)


def task(num_envs: int, steps: int) -> Callable[[], object]:
    """What a worker does for one task."""
    factory = pong.agents(num_envs)
    actor = factory.make("actor", "preparer", stream="actor")
    sampler = SteppingSampler(factory.make_env(), actor, factory.make_adder(), steps)
    sampler.start()
    clock = Clock(horizon=pong.HORIZON)

    def run() -> object:
        found = sampler.sample(clock)
        assert found is not None
        return [actor.prepare(batch) for batch in found[1]]

    return run
