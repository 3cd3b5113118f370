"""Puts the parts of a run on a Ray cluster and returns the loop."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import psutil

from rlg.errors import SpecError
from rlg.execution.engines.ray.actors import Evaluator, Shard, Worker
from rlg.execution.engines.ray.cluster import Cluster
from rlg.execution.engines.ray.evaluator import RayEvaluator
from rlg.execution.engines.ray.pool import RayPool
from rlg.execution.engines.ray.trainer import ShardTrainer
from rlg.execution.loops import loop_class
from rlg.execution.roles import AgentFactory, Loop
from rlg.execution.types import Clock

TASK = 400  # environment steps of a task, about: long enough for calls to cost nothing
PACKED = 512  # records of a request to a shard, about


def open_ray(factory: AgentFactory, settings: Mapping[str, Any], horizon: int) -> Loop:
    """Engine `ray`."""
    workers = settings["num_workers"] or max(1, (os.cpu_count() or 2) - 1)
    num_shards = min(settings["num_shards"], workers)
    if settings["address"] is None:
        _check_free(factory.memory_nbytes())
    cluster = Cluster(settings, num_cpus=workers * settings["worker_cpus"] + 2)
    try:
        learner = factory.make("actor", "updater")
        backend = factory.actor_backend(settings["actor_backend"])
        steps = settings["task_steps"] or max(1, TASK // factory.num_envs)
        made = [
            cluster.actor(
                Worker, factory, index, workers, backend, steps, num_cpus=settings["worker_cpus"]
            )
            for index in range(workers)
        ]
        envs_of_shard = -(-workers // num_shards) * factory.num_envs
        shards = [
            cluster.actor(Shard, factory, index, num_shards, envs_of_shard, num_cpus=0)
            for index in range(num_shards)
        ]
        task_steps = steps * factory.num_envs
        pool = RayPool(cluster, made, factory.cadence, task_steps, settings["timeout"])
        pack = settings["pack"] or max(1, PACKED // learner.batch_size)
        trainer = ShardTrainer(
            cluster,
            factory,
            learner,
            shards,
            pack=pack,
            minimum=factory.cadence.starts // (2 * num_shards),
            num_workers=workers,
            num_envs=factory.num_envs,
        )
        clock = Clock(horizon=horizon)
        loop: Loop = loop_class(factory.loop)(pool, trainer, factory.cadence, clock)
        if settings["evaluator"]:
            evaluator = cluster.actor(Evaluator, factory, backend, num_cpus=0)
            loop.evaluator = RayEvaluator(cluster, evaluator)
    except BaseException:
        cluster.close()
        raise
    where = (
        "Ray on this machine" if settings["address"] is None else f"Ray at {settings['address']}"
    )
    loop.description = (
        f"{where}: {workers} x {factory.num_envs} environments, acting on {backend}, replay in "
        f"{num_shards} {'shard' if num_shards == 1 else 'shards'}"
    )
    return loop


def _check_free(needed: int) -> None:
    """Shards look at what is free one by one, and would share it."""
    free = psutil.virtual_memory().available
    if needed > free:
        raise SpecError(
            f"memory.buffer_size: the shards need {needed / 1e9:.1f} GB together, but "
            f"{free / 1e9:.1f} GB are free. Lower it."
        )
