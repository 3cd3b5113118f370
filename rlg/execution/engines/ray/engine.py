"""Puts the parts of a run on a Ray cluster and returns the loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psutil

from rlg.errors import SpecError
from rlg.execution.engines.local import differentiating
from rlg.execution.engines.ray.actors import (
    Evaluator,
    GradientWorker,
    SegmentWorker,
    Shard,
    Worker,
)
from rlg.execution.engines.ray.cluster import Cluster
from rlg.execution.engines.ray.evaluator import RayEvaluator
from rlg.execution.engines.ray.on_policy import GradientPool, RolloutPool, SegmentPool
from rlg.execution.engines.ray.pool import RayPool, WorkerPool
from rlg.execution.engines.ray.trainer import ShardTrainer
from rlg.execution.engines.settings import num_workers
from rlg.execution.loops import loop_class
from rlg.execution.roles import AgentFactory, Loop
from rlg.execution.trainers import BatchTrainer, GradientTrainer, QueueTrainer
from rlg.execution.types import Clock

TASK = 400  # environment steps of a task, about: long enough for calls to cost nothing
PACKED = 512  # records of a request to a shard, about
# Settings that only a replay memory in other processes has, and what they are without one.
REPLAY_ONLY = {"num_shards": 1, "task_steps": None, "pack": None}

Opened = tuple[WorkerPool, Any, str]  # a pool, a trainer, and what to tell the user


def open_ray(factory: AgentFactory, settings: Mapping[str, Any], horizon: int) -> Loop:
    """Engine `ray`."""
    _check(factory, settings)
    workers = num_workers(settings)
    cluster = Cluster(settings, num_cpus=workers * settings["worker_cpus"] + 2)
    try:
        parts = _Parts(cluster, factory, settings, workers)
        pool, trainer, how = getattr(parts, factory.loop)()
        loop: Loop = loop_class(factory.loop)(
            pool, trainer, factory.cadence, Clock(horizon=horizon)
        )
        if settings["evaluator"]:
            backend = factory.actor_backend(settings["actor_backend"])
            evaluator = cluster.actor(Evaluator, factory, backend, num_cpus=0)
            loop.evaluator = RayEvaluator(cluster, evaluator)
    except BaseException:
        cluster.close()
        raise
    where = "on this machine" if settings["address"] is None else f"at {settings['address']}"
    loop.description = f"Ray {where}: {workers} x {factory.num_envs} environments, {how}"
    return loop


def _check(factory: AgentFactory, settings: Mapping[str, Any]) -> None:
    """What can be refused before a cluster is started."""
    if factory.loop == "gradients":
        differentiating(settings["actor_backend"])
    if factory.loop != "sharded_replay":
        _refuse_replay_settings(settings)
    elif settings["address"] is None:
        _check_free(factory.memory_nbytes())


def _check_free(needed: int) -> None:
    """Shards look at what is free one by one, and would share it."""
    free = psutil.virtual_memory().available
    if needed > free:
        raise SpecError(
            f"memory.buffer_size: the shards need {needed / 1e9:.1f} GB together, but "
            f"{free / 1e9:.1f} GB are free. Lower it."
        )


def _refuse_replay_settings(settings: Mapping[str, Any]) -> None:
    for name, value in REPLAY_ONLY.items():
        if settings[name] != value:
            raise SpecError(
                f"executor.{name}: this agent has no replay memory, and samples agent.n_steps "
                "steps per task. Leave it out."
            )


@dataclass(frozen=True, slots=True)
class _Parts:
    """Pool and trainer of each loop."""

    cluster: Cluster
    factory: AgentFactory
    settings: Mapping[str, Any]
    count: int  # of workers

    def sharded_replay(self) -> Opened:
        """Workers that never wait, shards of the memory, and a learner that draws from them."""
        factory, settings = self.factory, self.settings
        learner = factory.make("actor", "updater")
        num_shards = min(settings["num_shards"], self.count)
        steps = settings["task_steps"] or max(1, TASK // factory.num_envs)
        backend = factory.actor_backend(settings["actor_backend"])
        workers = self._workers(Worker, backend, steps)
        envs_of_shard = -(-self.count // num_shards) * factory.num_envs
        shards = [
            self.cluster.actor(Shard, factory, index, num_shards, envs_of_shard, num_cpus=0)
            for index in range(num_shards)
        ]
        task_steps = steps * factory.num_envs
        pool = RayPool(self.cluster, workers, factory.cadence, task_steps, settings["timeout"])
        trainer = ShardTrainer(
            self.cluster,
            factory,
            learner,
            shards,
            pack=settings["pack"] or max(1, PACKED // learner.batch_size),
            minimum=factory.cadence.starts // (2 * num_shards),
            num_workers=self.count,
            num_envs=factory.num_envs,
        )
        shown = f"{num_shards} {'shard' if num_shards == 1 else 'shards'}"
        return pool, trainer, f"acting on {backend}, replay in {shown}"

    def batches(self) -> Opened:
        """Workers that sample in step, and a learner for the environments of all of them."""
        factory = self.factory
        learner = factory.make("actor", "learner", num_envs=self.count * factory.num_envs)
        backend = factory.actor_backend(self.settings["actor_backend"])
        workers = self._workers(SegmentWorker, backend)
        timeout = self.settings["timeout"]
        pool = SegmentPool(self.cluster, workers, timeout, factory.make_adder())
        return pool, BatchTrainer(learner), f"acting on {backend}, synchronous updates"

    def actor_learner(self) -> Opened:
        """Workers that roll out, and a learner with a bounded queue."""
        factory = self.factory
        trainer = QueueTrainer(factory.make("actor", "learner"))
        backend = factory.actor_backend(self.settings["actor_backend"])
        workers = self._workers(SegmentWorker, backend)
        pool = RolloutPool(self.cluster, workers, self.settings["timeout"], trainer)
        return pool, trainer, f"acting on {backend}, asynchronous rollouts"

    def gradients(self) -> Opened:
        """Workers that differentiate what they sample, and a learner that descends."""
        backend = self.settings["actor_backend"]
        learner = self.factory.make("actor", "learner")
        workers = self._workers(GradientWorker, differentiating(backend))
        pool = GradientPool(self.cluster, workers, self.settings["timeout"])
        return pool, GradientTrainer(learner), "asynchronous gradients"

    def _workers(self, cls: type, backend: str | None, steps: int | None = None) -> list[Any]:
        factory, cpus = self.factory, self.settings["worker_cpus"]
        steps = steps or factory.task_steps(factory.num_envs)
        return [
            self.cluster.actor(cls, factory, index, self.count, backend, steps, num_cpus=cpus)
            for index in range(self.count)
        ]
