"""What the learner's loop sees: actors that hand over nothing, and a queue inside of the graph."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rlg.errors import ExecutionError
from rlg.execution.engines.tf_cluster.children import Children
from rlg.execution.fused_roles import FusedLearner
from rlg.execution.roles import Stop, never
from rlg.execution.trainers import FusedTrainer
from rlg.execution.types import Clock, LearnResult, Weights

POLL = 0.5  # seconds between looks at stop requests
SHORTEST, LONGEST = 0.001, 0.1  # seconds between looks at the queue...
SHARE = 0.25  # ...in between so much of the time from update to update


class GraphQueueTrainer(FusedTrainer):
    """Learns from rollouts that arrive in the queue of the learner's graph."""

    learner: FusedLearner

    def __init__(self, learner: FusedLearner, num_envs: int) -> None:
        super().__init__(learner)
        self.steps = learner.batch_rollouts * learner.task_steps(num_envs) * num_envs
        self.notes: Mapping[str, Any] = {}
        self.waiting = 0  # rollouts, when it was looked last
        self.pause = SHORTEST  # seconds between looks
        self._learnt = time.monotonic()

    def look(self) -> bool:
        """Whether there are rollouts enough for an update: then taking them does not wait."""
        self.waiting = self.learner.waiting()
        return self.is_ready

    @property
    def is_ready(self) -> bool:
        return self.waiting >= self.learner.batch_rollouts

    @property
    def is_full(self) -> bool:
        """Whether actors wait for room, as far as known."""
        return self.waiting >= self.learner.queue

    def learn(self, clock: Clock, due: int = 1) -> LearnResult:
        """One update, with the lag of the policies that acted, in updates, and what still waits."""
        result, self.notes, self.waiting = self.learner.learn_waiting(clock)
        before, self._learnt = self._learnt, time.monotonic()
        self.pause = min(LONGEST, max(SHORTEST, SHARE * (self._learnt - before)))
        lags = clock.updates - self.notes["versions"]
        found = {"policy_lag": float(lags.mean()), "policy_lag_max": float(lags.max())}
        return LearnResult({**result.metrics, **found, "queue": float(self.waiting)})


class ActorTasks:
    """All actors of a cluster; those of this machine are watched."""

    wants_weights = False  # Actors take them out of the learner's graph.
    is_concurrent = True
    keeps_episodes = False

    def __init__(self, trainer: GraphQueueTrainer, count: int, children: Children | None) -> None:
        self.trainer = trainer
        self._children = children
        self._figures = [{"steps": 0.0, "weights age": 0.0, "restarts": 0.0} for _ in range(count)]

    def start(self) -> None:
        self.trainer.learner.publish(0)

    def ready(
        self, clock: Clock, stop: Stop = never, *, wait: bool = True, refill: Collection[int] = ()
    ) -> list[tuple[Any, Sequence[Any]]]:
        """Nothing: rollouts stay in the graph. With `wait`, waits until there are enough of them,
        or for half a second, so that a stop request is seen.
        """
        deadline = time.monotonic() + POLL
        while True:
            is_enough = self.trainer.look()
            if self._children is not None:
                self._children.look(self.trainer.is_full)
            if is_enough or not wait or stop() or time.monotonic() > deadline:
                return []
            time.sleep(self.trainer.pause)

    def note(self, actors: Any, ages: Any) -> None:
        """These actors' rollouts were learnt from, by weights that were so many updates old."""
        steps = self.trainer.steps / self.trainer.learner.batch_rollouts
        for index, age in zip(actors.tolist(), ages.tolist(), strict=True):
            self._figures[index]["steps"] += steps
            self._figures[index]["weights age"] = float(age)
            if self._children is not None:
                self._children.heard(index)

    def statistics(self) -> dict[str, float]:
        """Figures to log."""
        ages = [figures["weights age"] for figures in self._figures]
        return {
            "cluster/actor_restarts": float(self.restarts),
            "cluster/weights_age_max": max(ages),
        }

    @property
    def restarts(self) -> int:
        """Of all actors of this machine."""
        return 0 if self._children is None else sum(self._children.restarts)

    def workers(self) -> dict[str, dict[str, float]]:
        restarts = [] if self._children is None else self._children.restarts
        for figures, count in zip(self._figures, restarts, strict=False):
            figures["restarts"] = float(count)
        return {f"actor {index}": dict(known) for index, known in enumerate(self._figures)}

    def publish(self, weights: Weights) -> None:
        """Nothing: they are in the graph."""

    def get_state(self) -> dict[str, Any]:
        """Nothing: neither episodes nor rollouts that wait are resumed."""
        return {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """The learner has its weights back: actors begin, with new episodes."""
        self.trainer.learner.publish(int(state["counters"]["clock"]["updates"]))

    def close(self) -> None:
        try:
            self.trainer.learner.close_queue()
        except ExecutionError:
            pass  # Nobody is left to be told.
        finally:
            if self._children is not None:
                self._children.close()
