"""Trainers: a learner with its data, as loops see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlg.errors import ExecutionError
from rlg.execution.roles import Learner
from rlg.execution.types import Batch, Clock, LearnResult, Weights


class FusedTrainer:
    """The memory is in the learner's graph: sample, learn and reprioritise are one plan."""

    burst: int | None = None
    wants_data = False

    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    def absorb(self, batches: Sequence[Batch]) -> None:
        for batch in batches:
            self.learner.insert(batch)

    @property
    def is_ready(self) -> bool:
        return self.learner.stored > 0

    def learn(self, clock: Clock) -> LearnResult:
        return self.learner.learn(None, clock)

    def statistics(self) -> dict[str, float]:
        return {}

    def weights(self, version: int) -> Weights:
        return self.learner.weights(version)

    def records(self) -> dict[str, Any]:
        return self.learner.records()

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

    def learn(self, clock: Clock) -> LearnResult:
        batch, self._batch = self._batch, None
        return self.learner.learn(batch, clock)
