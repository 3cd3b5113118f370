"""What loops share that go in rounds: a clock, what was sampled, published weights, state."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from typing import Any

from rlg.execution.cadence import Cadence
from rlg.execution.roles import Evaluator, SamplerPool, Stop, Trainer
from rlg.execution.types import Clock, Iteration


class Rounds:
    """Samples, hands over to the trainer, learns; `iterate` is one round."""

    def __init__(self, pool: SamplerPool, trainer: Trainer, cadence: Cadence, clock: Clock) -> None:
        self.pool = pool
        self.trainer = trainer
        self.learner = trainer.learner
        self.cadence = cadence
        self.clock = clock
        self.description = ""
        self.evaluator: Evaluator | None = None  # None: the learner plays evaluations itself

    def start(self) -> None:
        self.pool.start()
        self.publish()

    def iterate(self, stop: Stop) -> Iteration:
        """One round. `stop` is asked between steps of environments and between updates."""
        raise NotImplementedError

    def sample(
        self, iteration: Iteration, stop: Stop, *, wait: bool = True, refill: Collection[int] = ()
    ) -> bool:
        """A task of each sampler, or (concurrent ones) what they have finished; False if stopped
        on the way.
        """
        found = self.pool.ready(self.clock, stop, wait=wait, refill=refill)
        for segment, batches in found:
            self.trainer.absorb(batches)
            self.clock = self.clock.after(steps=segment.steps)
            iteration.returns += segment.returns
            iteration.lengths += segment.lengths
        iteration.is_complete = bool(found) or self.pool.is_concurrent
        return iteration.is_complete

    def publish(self) -> None:
        """The learner's weights, for samplers that don't act by its own graph."""
        if self.pool.wants_weights:
            self.pool.publish(self.trainer.weights(self.clock.updates))

    def statistics(self) -> dict[str, float]:
        """What pool and trainer say of themselves, to log."""
        return {**self.pool.statistics(), **self.trainer.statistics()}

    def get_state(self, *, memory: bool = True) -> dict[str, Any]:
        return {
            **self.trainer.get_state(memory=memory),
            **self.pool.get_state(),
            "counters": {"clock": asdict(self.clock)},
        }

    def set_state(self, state: Mapping[str, Any], horizon: int | None = None) -> None:
        saved = Clock(**state["counters"]["clock"])
        self.clock = saved if horizon is None else replace(saved, horizon=horizon)
        self.trainer.set_state(state)
        self.pool.set_state(state)
        self.publish()

    def close(self) -> None:
        self.pool.close()
