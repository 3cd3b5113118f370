"""Ape-X on Pong (figure 6 of the RLgraph paper): what a step costs by stage, and in all.

Two cores show contention, not scaling. So the stages of a run are measured in core-milliseconds per
step in one process, with the parts of the graph that Ray's processes have, and what more workers
would reach is calculated from them: a model, and labelled so. The whole local engine stands beside
its ceiling: ALE's environment, a hand-written network and a bare memory with as many updates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any

import numpy as np

from rlg.bench.measuring import Block, Cost, block_of, interleave, timed
from rlg.bench.results import Row
from rlg.bench.running import Settings
from rlg.bench.suites import pong
from rlg.bench.suites.models import HIDDEN, STATES
from rlg.execution.engines import open_engine
from rlg.execution.roles import never
from rlg.execution.sampling import SteppingSampler
from rlg.execution.types import Clock

NUM_ENVS, TASK, BATCH, TRAIN_FREQ, STARTS = 8, 25, 32, 8, 400
STEPS = NUM_ENVS * TASK  # of one block
OURS, CEILING = "rlg torch", "raw environment + bare network and memory"
STAGES = ("environment", "act", "prepare", "insert", "sample", "learn", "weights", "rest")
WORKER = ("environment", "act", "prepare", "rest")  # stages that run in each worker
SHARD = ("insert", "sample")
WORKERS = (1, 4, 16, 64, 256)
AGENT: dict[str, Any] = {"batch_size": BATCH, "train_freq": TRAIN_FREQ, "learning_starts": STARTS}
FACTS = {
    "threads": 1,
    "frame_skip": pong.FRAME_SKIP,
    "replay_ratio": BATCH / TRAIN_FREQ,
    "num_envs": NUM_ENVS,
    "batch_size": BATCH,
}


def measure(settings: Settings) -> Iterator[Row]:
    """The local engine beside its ceiling, stages, and a model of many workers."""
    if "torch" not in settings.backends:
        return
    blocks: dict[str, Block] = {OURS: local(), CEILING: block_of(bare(), units=STEPS)}
    rounds = settings.rounds(5, 15)
    found = interleave(blocks, rounds)
    yield Row(
        *("local engine", OURS, CEILING, "step", tuple(found[OURS]), tuple(found[CEILING])),
        clock="cpu",
        settings=FACTS,
        is_ceiling=True,
    )
    stages = measure_stages(rounds)
    for name, costs in stages.items():
        names = f"stage: {name}", OURS, "", "step", tuple(costs)
        yield Row(*names, kind="figure", clock="cpu", settings=FACTS)
    yield from modelled({name: median(c.cpu for c in costs) for name, costs in stages.items()})


def local() -> Block:
    """Blocks of the engine `local`, once its memory is filled."""
    factory = pong.agents(NUM_ENVS, **AGENT)
    loop = open_engine(factory, factory.config["executor"], pong.HORIZON)
    loop.start()
    while loop.clock.steps < STARTS:
        loop.iterate(never)

    def run() -> None:
        until = loop.clock.steps + STEPS
        while loop.clock.steps < until:
            loop.iterate(never)

    def block() -> Cost:
        before = loop.clock.steps
        cost = timed(run)
        steps = loop.clock.steps - before
        return Cost(cost.wall / steps, cost.cpu / steps)

    return block


def bare() -> Callable[[], None]:
    """The ceiling: as many steps and updates of the same sizes, by hand."""
    from rlg.bench.handwritten_torch import DQN

    dqn = DQN(STATES["cnn"].shape, HIDDEN["cnn"], pong.ACTIONS, STARTS)
    observations, step = pong.raw_environment(NUM_ENVS)
    rest = {"rewards": np.zeros(NUM_ENVS, "float32"), "terminals": np.zeros(NUM_ENVS, bool)}

    def run() -> None:
        nonlocal observations
        for n in range(TASK):
            actions = dqn.online.act(observations)
            following = step(actions)
            records = {"states": observations, "next_states": following, "actions": actions, **rest}
            dqn.memory.insert(records)
            observations = following
            for _ in range((n + 1) * NUM_ENVS // TRAIN_FREQ - n * NUM_ENVS // TRAIN_FREQ):
                dqn.update(BATCH)

    return run


class Stages:
    """What each stage of a block has cost so far."""

    def __init__(self) -> None:
        self.costs: dict[str, Cost] = {}

    def of(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its cost added to a stage."""

        def call(*arguments: Any, **keys: Any) -> Any:
            started, used = time.perf_counter(), time.process_time()
            result = function(*arguments, **keys)
            before = self.costs.get(name, Cost(0.0, 0.0))
            wall, cpu = time.perf_counter() - started, time.process_time() - used
            self.costs[name] = Cost(before.wall + wall, before.cpu + cpu)
            return result

        return call


def measure_stages(rounds: int) -> dict[str, list[Cost]]:
    """Each stage's cost per step, block by block; `rest` is what no stage accounts for."""
    stages = Stages()
    run = staged(stages)
    while run() < STARTS:
        pass
    found: dict[str, list[Cost]] = {name: [] for name in STAGES}
    for _ in range(rounds):
        stages.costs = {}
        whole = timed(run)
        parts = stages.costs.values()
        wall, cpu = sum(c.wall for c in parts), sum(c.cpu for c in parts)
        costs = {**stages.costs, "rest": Cost(max(0.0, whole.wall - wall), whole.cpu - cpu)}
        for name, cost in costs.items():
            found[name].append(Cost(cost.wall / STEPS, max(0.0, cost.cpu) / STEPS))
    return found


def staged(stages: Stages) -> Callable[[], int]:
    """A worker, a shard and a learner in one process, in turn; returns the steps so far."""
    factory = pong.agents(NUM_ENVS, **AGENT)
    actor: Any = factory.make("actor", "preparer", stream="actor")
    memory: Any = factory.make_memory(0, 1, NUM_ENVS)
    learner = factory.make("updater")
    env, adder = factory.make_env(), factory.make_adder()
    sampler = SteppingSampler(env, actor, adder, TASK)
    sampler.start()
    env.step = stages.of("environment", env.step)  # type: ignore[method-assign]
    actor.act = stages.of("act", actor.act)
    adder.add = stages.of("prepare", lambda segment, add=adder.add: list(add(segment)))
    prepare = stages.of("prepare", actor.prepare)
    insert = stages.of("insert", memory.insert)
    sample, update = stages.of("sample", memory.sample), memory.update_priorities
    update, learn = stages.of("sample", update), stages.of("learn", learner.learn)
    publish = stages.of("weights", lambda: sampler.set_weights(learner.weights(0)))
    clock = Clock(horizon=pong.HORIZON)

    def run() -> int:
        nonlocal clock
        found = sampler.sample(clock)
        assert found is not None
        for batch in found[1]:
            insert(prepare(batch))
        clock = clock.after(steps=STEPS)
        for _ in range(STEPS // TRAIN_FREQ):
            batch = sample(BATCH, clock)
            update(batch.keys, learn(batch, clock).priorities)
            clock = clock.after(updates=1)
        publish()
        return clock.steps

    return run


def modelled(stages: Mapping[str, float]) -> Iterator[Row]:
    """What many workers with a core each would reach, from CPU seconds per step by stage.

    Learner and shard have a core each and keep the replay ratio: whichever is slowest decides. What
    processes cost to talk to each other is not in it.
    """
    worker = sum(stages[name] for name in WORKER)
    shard, learner = sum(stages[name] for name in SHARD), stages["learn"] + stages["weights"]
    for count in WORKERS:
        bounds = {"workers": worker / count, "the shard": shard, "the learner": learner}
        bound = max(bounds, key=lambda name: bounds[name])
        seconds = bounds[bound]
        note = f"{1 / seconds:,.0f} steps/s, bound by {bound}; "
        note += f"workers alone {count / worker:,.0f} steps/s"
        cost = Cost(seconds, worker + shard + learner)
        names = f"{count} worker{'s' if count > 1 else ''}", OURS, "", "step", (cost,)
        yield Row(*names, kind="figure", settings=FACTS, note=note, is_model=True)
