"""Replay: sample, remember, learn, in the ratio that the cadence says. DQN and its relatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rlg.execution.cadence import Cadence
from rlg.execution.roles import SamplerPool, Stop, Trainer
from rlg.execution.types import Clock, Iteration, LearnResult, mean_metrics


class ReplayLoop:
    """One round is a task of each sampler, and then all updates that are due."""

    def __init__(self, pool: SamplerPool, trainer: Trainer, cadence: Cadence, clock: Clock) -> None:
        self.pool = pool
        self.trainer = trainer
        self.learner = trainer.learner
        self.cadence = cadence
        self.clock = clock
        self._wait = cadence.starts  # steps that fill an empty memory
        self._results: list[LearnResult] = []  # of a round that is not complete yet

    def start(self) -> None:
        self.pool.start()
        self._publish()

    def iterate(self, stop: Stop) -> Iteration:
        iteration = Iteration()
        # Updates that a stop left over come before new samples.
        if not self._due():
            self._sample(iteration)
        while due := self._due():
            self._results.append(self.trainer.learn(self.clock))
            self.clock = self.clock.after(updates=1)
            if due > 1 and stop():
                iteration.is_complete = False
                return iteration
        if self._results:
            iteration.train = {f"train/{k}": v for k, v in mean_metrics(self._results).items()}
            self._results = []
            self._publish()
        return iteration

    def _due(self) -> int:
        # Until the first windows or sequences are complete there is nothing to learn from.
        return self.cadence.due(self.clock) if self.trainer.is_ready else 0

    def _sample(self, iteration: Iteration) -> None:
        for segment, batches in self.pool.ready(self.clock):
            self.trainer.absorb(batches)
            self.clock = self.clock.after(steps=segment.steps)
            iteration.returns += segment.returns
            iteration.lengths += segment.lengths

    def _publish(self) -> None:
        if self.pool.wants_weights:
            self.pool.publish(self.trainer.weights(self.clock.updates))

    def get_state(self, *, memory: bool = True) -> dict[str, Any]:
        return {
            **self.trainer.get_state(memory=memory),
            **self.pool.get_state(),
            "counters": {
                "clock": asdict(self.clock),
                "cadence": asdict(self.cadence),
                "results": [dict(result.metrics) for result in self._results],
            },
        }

    def set_state(self, state: Mapping[str, Any], horizon: int | None = None) -> None:
        counters = state["counters"]
        saved = Clock(**counters["clock"])
        self.clock = saved if horizon is None else Clock(saved.steps, saved.updates, horizon)
        self._results = [LearnResult(metrics) for metrics in counters["results"]]
        before = Cadence(**counters["cadence"])
        if "memory" not in state:
            # An empty memory is filled before it is learnt from.
            self.cadence = self.cadence.restarted(self.clock, self._wait)
        elif not before.has_ratio_of(self.cadence):
            self.cadence = self.cadence.restarted(self.clock, max(0, before.starts - saved.steps))
        else:
            self.cadence = before
        self.trainer.set_state(state)
        self.pool.set_state(state)
        self._publish()

    def close(self) -> None:
        self.pool.close()
