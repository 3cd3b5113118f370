"""Trainers: a learner with its data, as loops see it."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from rlg.errors import ExecutionError
from rlg.execution.roles import AgentFactory, GradientLearner, Learner, RolloutLearner
from rlg.execution.types import (
    Batch,
    Clock,
    Gradients,
    LearnResult,
    SavedBatches,
    Segment,
    Weights,
    segment_from_tree,
    segment_to_tree,
    side_by_side,
)
from rlg.graph.spaces import map_leaves


class FusedTrainer:
    """The memory is in the learner's graph: sample, learn and reprioritise are one plan."""

    burst: int | None = None
    hungry: Collection[int] = ()
    # What the newest update learnt from, to look at if it failed; None: records of the memory.
    latest: Batch | Gradients | None = None

    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    def absorb(self, batches: Sequence[Batch]) -> None:
        for batch in batches:
            self.learner.insert(batch)

    @property
    def is_ready(self) -> bool:
        return self.learner.stored > 0

    @property
    def stored(self) -> int:
        return self.learner.stored

    @cached_property
    def memory_nbytes(self) -> int:
        return self.learner.memory_nbytes

    def learn(self, clock: Clock, due: int = 1) -> LearnResult:
        return self.learner.learn_due(due, clock)

    def statistics(self) -> dict[str, float]:
        return {}

    def weights(self, version: int) -> Weights:
        return self.learner.weights(version)

    def records(self) -> dict[str, Any]:
        return self.learner.records()

    def read_memory(self, saved: Any) -> Any:
        batches = saved_batches(saved.stored["memory"])
        if batches is not None:
            return batches
        records = self.learner.records()
        saved.read_into("memory", records)
        return records

    def get_state(self, *, memory: bool = True) -> dict[str, Any]:
        return self.learner.get_state(memory=memory)

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.learner.set_state(state)


class BatchTrainer(FusedTrainer):
    """Learns from what was sampled last, and only once."""

    def __init__(self, learner: Learner) -> None:
        super().__init__(learner)
        self._batch: Batch | None = None

    def absorb(self, batches: Sequence[Batch]) -> None:
        (batch,) = batches
        if self._batch is not None:
            raise ExecutionError("a second segment was sampled before the first was learnt from.")
        self._batch = batch

    @property
    def is_ready(self) -> bool:
        return self._batch is not None

    def learn(self, clock: Clock, due: int = 1) -> LearnResult:
        self.latest, self._batch = self._batch, None
        return self.learner.learn(self.latest, clock)


class GradientTrainer(FusedTrainer):
    """Descends by gradients that samplers have computed, in the order of arrival."""

    learner: GradientLearner

    def __init__(self, learner: GradientLearner) -> None:
        super().__init__(learner)
        self._gradients: deque[Gradients] = deque()

    def absorb(self, gradients: Sequence[Any]) -> None:
        self._gradients.extend(gradients)

    @property
    def is_ready(self) -> bool:
        return bool(self._gradients)

    def learn(self, clock: Clock, due: int = 1) -> LearnResult:
        self.latest = self._gradients.popleft()
        return self.learner.apply(self.latest, clock)


class QueueTrainer(FusedTrainer):
    """Learns from rollouts in the order of arrival, several side by side; the rest waits."""

    learner: RolloutLearner

    def __init__(self, learner: RolloutLearner) -> None:
        super().__init__(learner)
        self._waiting: deque[Segment] = deque()

    def absorb(self, batches: Sequence[Batch]) -> None:
        self._waiting.extend(batch.records["segment"] for batch in batches)

    @property
    def waiting(self) -> int:
        """Rollouts that nothing was learnt from yet."""
        return len(self._waiting)

    @property
    def is_ready(self) -> bool:
        return len(self._waiting) >= self.learner.batch_rollouts

    def learn(self, clock: Clock, due: int = 1) -> LearnResult:
        """One update, with the lag of the policies that acted, in updates, and what still waits."""
        rollouts = [self._waiting.popleft() for _ in range(self.learner.batch_rollouts)]
        together = side_by_side(rollouts)
        self.latest = Batch({"segment": together}, together.steps)
        result = self.learner.learn(self.latest, clock)
        lags = [clock.updates - rollout.version for rollout in rollouts]
        found = {"policy_lag": sum(lags) / len(lags), "policy_lag_max": float(max(lags))}
        return LearnResult({**result.metrics, **found, "queue": float(len(self._waiting))})

    def get_state(self, *, memory: bool = True) -> dict[str, Any]:
        trees = [segment_to_tree(rollout) for rollout in self._waiting]
        return {**super().get_state(memory=memory), "rollouts": trees}

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        found = map(segment_from_tree, state.get("rollouts", ()))
        # Rollouts of another length, from before the resume changed it, fit no others.
        steps = self.learner.task_steps(1)
        self._waiting = deque(rollout for rollout in found if len(rollout.rewards) == steps)


def saved_memory(factory: AgentFactory, saved: Any) -> SavedBatches:
    """The replay data of a checkpoint as batches, whatever engine saved it."""
    batches = saved_batches(saved.stored["memory"])
    if batches is not None:
        return batches
    # Saved by one process, as the arrays of one memory.
    memory = factory.make("memory", backend="numpy")
    saved.read_into("memory", memory.records())
    return SavedBatches(memory.export)


def saved_batches(stored: Mapping[str, Any]) -> SavedBatches | None:
    """Replay data that another engine saved as batches; None where it is the arrays of a memory."""
    if "batches" not in stored:
        return None

    def read() -> Iterator[Batch]:
        for batch in stored["batches"]:
            records = map_leaves(lambda array: array.read(), batch["records"])
            yield Batch(records, batch["size"], batch["priorities"].read())

    return SavedBatches(read)
