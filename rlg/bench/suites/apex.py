"""Ape-X on Pong (figure 6 of the RLgraph paper): what a step costs by stage, and in all.

Two cores show contention, not scaling. So the stages of a run are measured in core-milliseconds per
step in one process, with the parts of the graph that Ray's processes have, and what more workers
would reach is calculated from them: a model, and labelled so. The whole local engine stands beside
its ceiling: ALE's environment, a hand-written network and a bare memory with as many updates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from rlg.bench.machine import own_cpu
from rlg.bench.measuring import Block, Cost, block_of, interleave, timed
from rlg.bench.peers import Opponent
from rlg.bench.results import Clock, Row
from rlg.bench.running import Settings
from rlg.bench.suites import pong
from rlg.bench.suites.models import HIDDEN, STATES
from rlg.execution.engines import open_engine
from rlg.execution.roles import Loop, never
from rlg.execution.sampling import SteppingSampler
from rlg.execution.types import Clock as RunClock

NUM_ENVS, TASK, BATCH, TRAIN_FREQ, STARTS = 8, 15, 32, 8, 240
STEPS = NUM_ENVS * TASK  # of one block
OURS, CEILING = "rlg torch", "raw environment + bare network and memory"
RLLIB = "RLlib DQN, prioritized"
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

RAY_STEPS = 1_600  # of one block
RAY_AGENT: dict[str, Any] = {"batch_size": 512, "train_freq": 400, "learning_starts": 1_000}
REPLICAS = 2  # of the learner: one thread is slower than two workers
RAY_FACTS = {**FACTS, "replay_ratio": 1.28, "num_envs": 8, "batch_size": 512, "replicas": REPLICAS}


def measure(settings: Settings) -> Iterator[Row]:
    """The local engine beside its ceiling, stages, and a model of many workers."""
    if "torch" not in settings.backends:
        return
    blocks: dict[str, Block] = {OURS: local(), CEILING: block_of(bare(TASK), units=STEPS)}
    rounds = settings.rounds(4, 15)
    found = interleave(blocks, rounds)
    yield Row(
        *("local engine", OURS, CEILING, "step", tuple(found[OURS]), tuple(found[CEILING])),
        clock="cpu",
        settings=FACTS,
        is_ceiling=True,
    )
    yield from on_ray(settings)
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
    return looping(loop, STARTS, STEPS)


def on_ray(settings: Settings) -> Iterator[Row]:
    """A short run with 2 workers x 4 environments, beside RLlib's DQN with the same numbers.

    Workers sample ahead of the learner, so one of our blocks ends when all of them are idle: what
    they do must neither disturb the opponents nor be left out of our own time.
    """
    case, names = "on Ray, 2 workers x 4 environments", (OURS, CEILING, RLLIB)
    if not settings.full:
        row = Row(case, OURS, CEILING, "step", clock="cpu", settings=RAY_FACTS)
        yield replace(row, missing="left out: --full measures it")
        return
    engine = {"type": "ray", "num_workers": 2, "evaluator": False}
    factory = pong.agents(4, engine, replicas=REPLICAS, **RAY_AGENT)
    loop = open_engine(factory, factory.config["executor"], pong.HORIZON)
    try:
        loop.start()
        blocks = {OURS: looping(loop, RAY_AGENT["learning_starts"], RAY_STEPS, settles=True)}
        blocks[CEILING] = block_of(bare(RAY_STEPS // NUM_ENVS, 512, 400), units=RAY_STEPS)
        with Opponent("rllib_dqn", {}, wanted=settings.peers) as rllib:
            found = interleave({**blocks, RLLIB: rllib.block}, settings.rounds(5, 9))
    finally:
        loop.close()
    for other in names[1:]:
        # A ceiling is about work; of RLlib's steps per second people want to know.
        clock: Clock = "cpu" if other == CEILING else "wall"
        row = Row(case, OURS, other, "step", clock=clock, settings=RAY_FACTS)
        if other in found:
            costs: dict[str, Any] = {"costs": tuple(found[OURS]), "others": tuple(found[other])}
            yield replace(row, **costs, is_ceiling=other == CEILING)
        else:
            yield replace(row, missing=rllib.missing)


def looping(loop: Loop, starts: int, steps: int, *, settles: bool = False) -> Block:
    """Blocks of a loop, with all its processes; it fills its memory first.

    With `settles` a block ends when nothing computes any more, which is to our disadvantage: part
    of that work belongs to the next one.
    """
    while loop.clock.steps < starts:
        loop.iterate(never)

    def block() -> Cost:
        before, started, used = loop.clock.steps, time.perf_counter(), own_cpu()
        while loop.clock.steps < before + steps:
            loop.iterate(never)
        made = loop.clock.steps - before
        if settles:
            settle()
        return Cost((time.perf_counter() - started) / made, (own_cpu() - used) / made)

    return block


def settle(pause: float = 0.1, limit: float = 30.0) -> None:
    """Waits until this process and all below it hardly compute."""
    until, used = time.perf_counter() + limit, own_cpu()
    while time.perf_counter() < until:
        time.sleep(pause)
        before, used = used, own_cpu()
        if used - before < 0.2 * pause:
            return


def bare(task: int, batch: int = BATCH, train_freq: int = TRAIN_FREQ) -> Callable[[], None]:
    """The ceiling: as many steps and updates of the same sizes, by hand."""
    from rlg.bench.handwritten_torch import DQN

    dqn = DQN(STATES["cnn"].shape, HIDDEN["cnn"], pong.ACTIONS, 1_000)
    observations, step = pong.raw_environment(NUM_ENVS)
    rest = {"rewards": np.zeros(NUM_ENVS, "float32"), "terminals": np.zeros(NUM_ENVS, bool)}

    def run() -> None:
        nonlocal observations
        for n in range(task):
            actions = dqn.online.act(observations)
            following = step(actions)
            records = {"states": observations, "next_states": following, "actions": actions, **rest}
            dqn.memory.insert(records)
            observations = following
            for _ in range((n + 1) * NUM_ENVS // train_freq - n * NUM_ENVS // train_freq):
                dqn.update(batch)

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
    clock = RunClock(horizon=pong.HORIZON)

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
