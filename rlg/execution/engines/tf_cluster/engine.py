"""Starts the tasks of a cluster, and returns the learner's loop."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from rlg.errors import SpecError
from rlg.execution.engines.local import assemble
from rlg.execution.engines.tf_cluster.actor import Setup
from rlg.execution.engines.tf_cluster.children import Children
from rlg.execution.engines.tf_cluster.learner import ActorTasks, GraphQueueTrainer
from rlg.execution.engines.tf_cluster.tasks import LEARNER, Tasks, keep_quiet
from rlg.execution.roles import AgentFactory, Loop

OPEN = (
    "TensorFlow's servers listen on all addresses of this machine, and ask nobody for a password: "
    "see docs/tf-cluster.md"
)


def open_tf_cluster(factory: AgentFactory, settings: Mapping[str, Any], horizon: int) -> Loop:
    """Engine `tf_cluster`: this process is the learner's task."""
    tasks = tasks_of(settings)
    keep_quiet()
    server = tasks.server(LEARNER, 0, factory.threads)
    is_alone = settings["task"] is not None
    children = None if is_alone else _children(factory, tasks, settings)
    try:
        place = tasks.place(LEARNER, 0, server.target)
        learner = factory.make("fused_learner", place=place)
        trainer = GraphQueueTrainer(learner, factory.num_envs)
        pool = ActorTasks(trainer, len(tasks.actors), children)
        loop = assemble(factory, learner, pool, horizon, trainer)
    except BaseException:
        if children is not None:
            children.close()
        raise
    where = "on other machines" if is_alone else "on this machine"
    loop.description = (
        f"TensorFlow cluster, learner at {tasks.learner}, {len(tasks.actors)} x {factory.num_envs} "
        f"environments {where}. {OPEN}"
    )
    return loop


def tasks_of(settings: Mapping[str, Any]) -> Tasks:
    """The addresses of all tasks: as configured, or on this machine."""
    task, cluster, count = settings["task"], settings["cluster"], settings["num_actors"]
    if task is not None and task != LEARNER:
        raise SpecError(f"executor.task: expected learner or actor/NUMBER, got {task!r}.")
    if task is None and cluster is None:
        return Tasks.on_this_machine(count or max(1, (os.cpu_count() or 2) - 1))
    tasks = Tasks.for_task(settings)
    if count not in (None, len(tasks.actors)):
        raise SpecError(
            f"executor.num_actors: must be {len(tasks.actors)}, as in executor.cluster, got "
            f"{count}. Leave it out."
        )
    return tasks


def _children(factory: AgentFactory, tasks: Tasks, settings: Mapping[str, Any]) -> Children:
    setups = [
        Setup(factory, tasks, index, 0, settings["patience"]) for index in range(len(tasks.actors))
    ]
    return Children(setups, settings["timeout"])
