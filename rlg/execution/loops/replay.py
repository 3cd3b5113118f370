"""Replay: sample, remember, learn, in the ratio that the cadence says. DQN and its relatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rlg.execution.cadence import Cadence
from rlg.execution.loops.rounds import Rounds
from rlg.execution.roles import SamplerPool, Stop, Trainer
from rlg.execution.types import Clock, Iteration, LearnResult, mean_metrics

# Updates of a round before the first step: between rounds a run shows where it is.
PRETRAINING = 100


class ReplayLoop(Rounds):
    """One round is a task of each sampler, and then all updates that are due."""

    def __init__(self, pool: SamplerPool, trainer: Trainer, cadence: Cadence, clock: Clock) -> None:
        super().__init__(pool, trainer, cadence, clock)
        self._wait = cadence.starts  # steps that fill an empty memory
        self._results: list[LearnResult] = []  # of a round that is not complete yet

    def iterate(self, stop: Stop) -> Iteration:
        iteration = Iteration()
        # Updates that a stop left over come before new samples.
        due = self._due()
        if not due or self.pool.is_concurrent:
            refill = self.trainer.hungry
            if not self.sample(iteration, stop, wait=not due, refill=refill):
                return iteration
        made = 0
        while (due := self._due()) and made != self.trainer.burst:
            result = self.trainer.learn(self.clock, due)
            if result is None:
                break  # Nothing has arrived from other processes.
            self._results.append(result)
            self.clock = self.clock.after(updates=result.updates)
            made += result.updates
            if due > result.updates and stop():
                iteration.is_complete = False
                return iteration
            if self.cadence.is_pretraining(self.clock) and self._learnt >= PRETRAINING:
                break
        if self._results:
            iteration.train = {f"train/{k}": v for k, v in mean_metrics(self._results).items()}
            self._results = []
            self.publish()
        return iteration

    @property
    def _learnt(self) -> int:
        """Updates of this round, also of what a stop left over."""
        return sum(result.updates for result in self._results)

    def _due(self) -> int:
        # Until the first windows or sequences are complete there is nothing to learn from.
        return self.cadence.due(self.clock) if self.trainer.is_ready else 0

    def get_state(self, *, memory: bool = True) -> dict[str, Any]:
        state = super().get_state(memory=memory)
        state["counters"] |= {
            "cadence": asdict(self.cadence),
            "wait": self._wait,
            "results": [dict(result.metrics) for result in self._results],
            "result_updates": [result.updates for result in self._results],
        }
        return state

    def set_state(self, state: Mapping[str, Any], horizon: int | None = None) -> None:
        super().set_state(state, horizon)
        counters = state["counters"]
        results = counters["results"]
        counts = counters.get("result_updates", [1] * len(results))
        self._results = [
            LearnResult(metrics, updates=int(count))
            for metrics, count in zip(results, counts, strict=True)
        ]
        before = Cadence(**counters["cadence"])
        if "memory" not in state:
            # An empty memory is filled before it is learnt from.
            self.cadence = self.cadence.restarted(self.clock, self._wait)
            return
        starts = before.starts + self._wait - counters.get("wait", self._wait)
        is_past = max(starts, before.starts) <= self.clock.steps
        if before.has_ratio_of(self.cadence) and (is_past or starts == before.starts):
            self.cadence = before
        else:
            left = max(0, starts - self.clock.steps)
            self.cadence = self.cadence.restarted(self.clock, left)
