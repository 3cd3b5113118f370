"""Contenders of `impala_cluster`: a learner with its actors, rlg's or by hand, in a tree of
processes of its own.

`opponents/serve.py` calls `make`. A block is told how many actors take part: the others are stopped
meanwhile. Once it is measured, actors fill the queue and wait, so that trees can take turns.
"""

from __future__ import annotations

import atexit
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Protocol

import psutil

from rlg.bench.machine import own_cpu
from rlg.bench.suites.apex import settle
from rlg.execution.engines.tf_cluster.tasks import Tasks, keep_quiet

ACTORS, N_STEPS, QUEUE = 4, 20, 4
PONG = {"name": "pong", "num_threads": 1}
DOOM = {"name": "doom_basic", "frame_skip": 4, "image_size": 84, "frame_stack": 4}
OURS, HAND = "rlg tf-graph", "by hand, Server + Session"
OUTSIDE, COPYING = "by hand, a session call per step", "by hand, weights copied each step"


@dataclass(frozen=True)
class Case:
    """What is trained; `updates` are those of one block. Where the learner is what all wait for,
    the queue is always full: `is_heavy`.
    """

    title: str
    env: Mapping[str, Any]
    network: str
    spec: Mapping[str, Any]  # of rlg's network
    num_envs: int
    batch_rollouts: int
    updates: int
    is_heavy: bool = False

    def first(self, actors: int) -> int:
        """Updates before a block, from what waited in the queue and in front of it."""
        return 1 if self.is_heavy else ceil((QUEUE + actors) / self.batch_rollouts)


MLP = {"type": "mlp", "units": [64, 64], "activation": "tanh"}
SMALL, LARGE = {"type": "impala_small"}, {"type": "impala_large"}
CASES = {
    "cartpole": Case("CartPole, MLP", {"name": "cartpole"}, "mlp", MLP, 8, 4, 12),
    "pong": Case("Pong, small network", PONG, "small", SMALL, 8, 2, 3),
    "pong_large": Case("Pong, large network", PONG, "large", LARGE, 4, 1, 1, True),
    "doom": Case("Doom, small network", DOOM, "small", SMALL, 4, 2, 3),
    "doom_large": Case("Doom, large network", DOOM, "large", LARGE, 4, 1, 1, True),
}


class Tree(Protocol):
    """A learner whose actors are children of this process."""

    steps: int  # of one update

    def update(self) -> object:
        """One, once there are rollouts enough."""


def make(who: str, case: str, actors: int = ACTORS) -> Callable[[str], dict[str, Any]]:
    """Blocks of one contender."""
    given = CASES[case]
    keep_quiet()
    atexit.register(os._exit, 0)  # Servers don't end by themselves.
    tree = ours(given, actors) if who == OURS else by_hand(given, actors, ACTING[who])
    tree.update()
    family = psutil.Process().children()
    children = sorted(family, key=lambda child: child.create_time())[-actors:]

    def block(count: str = str(actors)) -> dict[str, Any]:
        idle = children[int(count) :]
        for child in idle:
            child.send_signal(signal.SIGSTOP)
        try:
            for _ in range(given.first(actors)):
                tree.update()
            started, used = time.perf_counter(), own_cpu()
            for _ in range(given.updates):
                tree.update()
            cost = {"wall": time.perf_counter() - started, "cpu": own_cpu() - used}
        finally:
            for child in idle:
                child.send_signal(signal.SIGCONT)
        settle()
        return {"steps": given.updates * tree.steps, **cost}

    return block


ACTING = {HAND: "fused", OUTSIDE: "outside", COPYING: "copying"}


def by_hand(case: Case, actors: int, acting: str) -> Tree:
    """Plain TensorFlow on the same environments."""
    from rlg.bench.handwritten_cluster import Learner, Task

    tasks = Tasks.on_this_machine(actors)
    env = {**case.env, "num_envs": case.num_envs}
    sizes = (N_STEPS, case.batch_rollouts, QUEUE)
    return Learner(Task(tasks.learner, tasks.actors, env, case.network, *sizes, acting))


class Loop:
    """rlg's engine, as a run has it."""

    def __init__(self, case: Case, actors: int) -> None:
        from rlg.api.agents.factory import ConfiguredAgents
        from rlg.api.config.validate import validate
        from rlg.execution.engines import open_engine

        agent = {"n_steps": N_STEPS, "batch_rollouts": case.batch_rollouts, "queue": QUEUE}
        config = validate(
            {
                "total_timesteps": 10_000_000,
                "agent": {"type": "impala", **agent},
                "env": {**case.env, "num_envs": case.num_envs},
                "network": dict(case.spec),
                "optimizer": {"type": "rmsprop", "learning_rate": 6e-4},
                "backend": {"type": "tf-graph", "threads": 1, "deterministic": True},
                "executor": {"type": "tf_cluster", "num_actors": actors, "timeout": 3600.0},
            }
        )
        self.loop = open_engine(ConfiguredAgents(config), config["executor"], 10_000_000)
        self.loop.start()
        self.steps = N_STEPS * case.num_envs * case.batch_rollouts

    def update(self) -> None:
        from rlg.execution.roles import never

        before = self.loop.clock.updates
        while self.loop.clock.updates == before:
            self.loop.iterate(never)


ours = Loop
