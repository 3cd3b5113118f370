"""Roles whose rollouts, or their gradients, stay inside of a graph that several processes share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from rlg.envs import VectorEnv
from rlg.execution.roles import RolloutLearner, SamplerPool, Trainer
from rlg.execution.types import Clock, LearnResult


class FusedActor(Protocol):
    """An actor whose environments are stepped inside of its graph. What its process does with it:

    actor.begin(env)
    while True:
        actor.rollout()
    """

    executor: Any

    def published(self) -> int:
        """The version of the learner's weights; -1: there are none yet."""

    def begin(self, env: VectorEnv) -> None:
        """Begins new episodes in these environments."""

    def rollout(self) -> None:
        """One rollout by the learner's newest weights, or its gradients, into the learner's queue;
        waits for room there.
        """


class FusedLearner(RolloutLearner, Protocol):
    """A learner whose rollouts arrive inside of its graph. What a trainer does with it:

    learner.publish(version)
    if learner.waiting() >= learner.batch_rollouts:
        result, notes, waiting = learner.learn_waiting(clock)
    """

    def publish(self, version: int) -> None:
        """Actors may begin, by the weights of this moment."""

    def waiting(self) -> int:
        """Rollouts in the queue."""

    def learn_waiting(self, clock: Clock) -> tuple[LearnResult, Mapping[str, Any], int]:
        """One update, what the rollouts said of themselves, and how many still wait."""

    def close_queue(self) -> None:
        """Actors are told that nothing more is learnt."""


class FusedActorPool(SamplerPool, Protocol):
    """Actors that hand over nothing: what they sampled is heard of from the learner."""

    def note(self, actors: Any, ages: Any) -> None:
        """These actors' rollouts were learnt from, by weights that were so many updates old."""


class FusedRolloutTrainer(Trainer, Protocol):
    """A trainer whose data is inside of the graph."""

    steps: int  # of one update
    notes: Mapping[str, Any]  # of the rollouts of the last update
