"""IMPALA on Pong (figure 9 of the RLgraph paper): rollouts and updates, each step trained once.

The ceiling is IMPALA by hand in torch (`handwritten_impala.py`) on ALE's own environment, in turn
in one thread, with as many updates of the same size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rlg.api.agents.factory import ConfiguredAgents
from rlg.api.config.validate import validate
from rlg.bench.measuring import block_of, interleave
from rlg.bench.peers import Opponent
from rlg.bench.results import Clock, Row
from rlg.bench.running import Settings
from rlg.bench.suites import impala_cluster, pong
from rlg.bench.suites.apex import looping
from rlg.bench.suites.models import HIDDEN
from rlg.execution.engines import open_engine

NUM_ENVS, N_STEPS, BATCH = 8, 20, 480  # steps of one update
BLOCK = 960  # steps of one block
RAY_BLOCK = 1_920
WORKERS = 2
CEILING, RLLIB = "raw environment + IMPALA by hand", "RLlib IMPALA"
FACTS = {
    "threads": 1,
    "frame_skip": pong.FRAME_SKIP,
    "replay_ratio": 1,
    "num_envs": NUM_ENVS,
    "batch_size": BATCH,
}


def measure(settings: Settings) -> Iterator[Row]:
    """The local engine on each framework, Ray, and the TensorFlow cluster."""
    names = {name: f"rlg {name}" for name in settings.frameworks()}
    if not names:
        return
    steps = settings.choose(BATCH, BLOCK)
    blocks = {ours: looping(opened(NUM_ENVS, name), BATCH, steps) for name, ours in names.items()}
    blocks[CEILING] = block_of(bare(steps), units=steps)
    found = interleave(blocks, settings.rounds(4, 15))
    for ours in names.values():
        costs = tuple(found[ours]), tuple(found[CEILING])
        row = Row("local engine", ours, CEILING, "step", *costs, clock="cpu", settings=FACTS)
        yield replace(row, is_ceiling=True)
    if "torch" in names:
        yield from on_ray(settings)
    if "tf" in names:
        yield from impala_cluster.measure(settings)


def on_ray(settings: Settings) -> Iterator[Row]:
    """A short run with 2 workers x 4 environments, beside RLlib's IMPALA with the same numbers."""
    case, ours = f"on Ray, {WORKERS} workers x {NUM_ENVS // WORKERS} environments", "rlg torch"
    if not settings.full:
        row = Row(case, ours, CEILING, "step", clock="cpu", settings=FACTS)
        yield replace(row, missing="left out: --full measures it")
        return
    engine = {"type": "ray", "num_workers": WORKERS, "evaluator": False}
    loop = opened(NUM_ENVS // WORKERS, "torch", engine)
    try:
        blocks = {ours: looping(loop, BATCH, RAY_BLOCK, settles=True)}
        blocks[CEILING] = block_of(bare(RAY_BLOCK), units=RAY_BLOCK)
        with Opponent("rllib_impala", {}, wanted=settings.peers) as rllib:
            found = interleave({**blocks, RLLIB: rllib.block}, settings.rounds(5, 9))
    finally:
        loop.close()
    for other in (CEILING, RLLIB):
        clock: Clock = "cpu" if other == CEILING else "wall"
        row = Row(case, ours, other, "step", clock=clock, settings=FACTS)
        if other in found:
            costs: dict[str, Any] = {"costs": tuple(found[ours]), "others": tuple(found[other])}
            yield replace(row, **costs, is_ceiling=other == CEILING)
        else:
            yield replace(row, missing=rllib.missing)


def opened(num_envs: int, backend: str, executor: Mapping[str, Any] = pong.LOCAL) -> Any:
    """A loop that was started; `num_envs` are those of one sampler."""
    config = validate(
        {
            "total_timesteps": pong.HORIZON,
            "agent": {
                "type": "impala",
                "n_steps": N_STEPS,
                "batch_rollouts": BATCH // (N_STEPS * num_envs),
            },
            "env": {"name": "pong", "num_envs": num_envs, "num_threads": 1},
            "network": {"type": "nature_cnn"},
            "optimizer": {"type": "rmsprop", "learning_rate": 6e-4, "epsilon": 0.1},
            # TensorFlow takes its number from the environment: it may be loaded already.
            "backend": {"type": backend, "threads": 1 if backend == "torch" else None},
            "executor": dict(executor),
        }
    )
    loop = open_engine(ConfiguredAgents(config), config["executor"], pong.HORIZON)
    loop.start()
    return loop


def bare(steps: int) -> Callable[[], None]:
    """The ceiling: as many steps and updates of the same sizes, by hand."""
    from rlg.bench.handwritten_impala import IMPALA, Rollout

    agent = IMPALA(HIDDEN["cnn"], pong.ACTIONS)
    observations, step = pong.raw_environment(NUM_ENVS)
    nothing = np.zeros((N_STEPS, NUM_ENVS), np.float32)

    def rollout() -> Rollout:
        nonlocal observations
        states, actions, log_probs = [observations], [], []
        for _ in range(N_STEPS):
            chosen, certain = agent.act(observations)
            observations = step(chosen)
            states.append(observations)
            actions.append(chosen)
            log_probs.append(certain)
        return Rollout(np.stack(states), np.stack(actions), np.stack(log_probs), nothing, nothing)

    def run() -> None:
        for _ in range(steps // BATCH):
            agent.update([rollout() for _ in range(BATCH // (N_STEPS * NUM_ENVS))])

    return run
