"""Synchronous batches: sample a segment, learn from it once, throw it away. A2C and PPO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rlg.execution.cadence import Cadence
from rlg.execution.roles import SamplerPool, Stop, Trainer
from rlg.execution.types import Clock, Iteration, mean_metrics


class BatchLoop:
    """One round is a task of each sampler and one update from all of them together."""

    def __init__(self, pool: SamplerPool, trainer: Trainer, cadence: Cadence, clock: Clock) -> None:
        self.pool = pool
        self.trainer = trainer
        self.learner = trainer.learner
        self.clock = clock

    def start(self) -> None:
        self.pool.start()
        self._publish()

    def iterate(self, stop: Stop) -> Iteration:
        iteration = Iteration()
        for segment, batches in self.pool.ready(self.clock):
            self.trainer.absorb(batches)
            self.clock = self.clock.after(steps=segment.steps)
            iteration.returns += segment.returns
            iteration.lengths += segment.lengths
        result = self.trainer.learn(self.clock)
        self.clock = self.clock.after(updates=1)
        iteration.train = {f"train/{k}": v for k, v in mean_metrics([result]).items()}
        self._publish()
        return iteration

    def _publish(self) -> None:
        if self.pool.wants_weights:
            self.pool.publish(self.trainer.weights(self.clock.updates))

    def get_state(self, *, memory: bool = True) -> dict[str, Any]:
        return {
            **self.trainer.get_state(memory=memory),
            **self.pool.get_state(),
            "counters": {"clock": asdict(self.clock)},
        }

    def set_state(self, state: Mapping[str, Any], horizon: int | None = None) -> None:
        saved = Clock(**state["counters"]["clock"])
        self.clock = saved if horizon is None else Clock(saved.steps, saved.updates, horizon)
        self.trainer.set_state(state)
        self.pool.set_state(state)
        self._publish()

    def close(self) -> None:
        self.pool.close()
