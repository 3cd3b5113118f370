"""A TensorFlow cluster in one process: a learner's and an actor's task as two servers."""

from __future__ import annotations

from typing import Any

from rlg.api.agents.factory import ConfiguredAgents
from rlg.execution.engines.tf_cluster.learner import ActorTasks, GraphQueueTrainer
from rlg.execution.engines.tf_cluster.tasks import ACTOR, LEARNER, Tasks
from rlg.execution.loops.actor_learner import FusedActorLearnerLoop
from rlg.execution.types import Clock


class Both:
    """A learner's and an actor's task, each with a server of its own."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.factory = ConfiguredAgents(given)
        self.tasks = Tasks.on_this_machine(1)
        self.servers = [self.tasks.server(job, 0, 1) for job in (LEARNER, ACTOR)]
        places = [
            self.tasks.place(job, 0, server.target)
            for job, server in zip((LEARNER, ACTOR), self.servers, strict=True)
        ]
        self.learner = self.factory.make("fused_learner", place=places[0])
        self.actor = self.factory.make("fused_actor", place=places[1])
        self.trainer = GraphQueueTrainer(self.learner, self.factory.num_envs)
        self.pool = ActorTasks(self.trainer, 1, None)
        clock = Clock(horizon=1000)
        self.loop = FusedActorLearnerLoop(self.pool, self.trainer, self.factory.cadence, clock)

    def begin(self) -> None:
        self.pool.start()
        self.actor.begin(self.factory.make_env())

    def streams_of_the_actor(self) -> dict[str, Any]:
        """Of its copy of the policy, as those of the policy itself."""
        streams = self.actor.get_streams()
        return {p.replace("agent/actor", "agent/policy"): s for p, s in streams.items()}
