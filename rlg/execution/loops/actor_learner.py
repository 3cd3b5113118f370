"""Actors and a learner that don't wait for each other: rollouts, and updates from some of them."""

from __future__ import annotations

import time

from rlg.execution.cadence import Cadence
from rlg.execution.fused_roles import FusedActorPool, FusedRolloutTrainer
from rlg.execution.loops.rounds import Rounds
from rlg.execution.roles import SamplerPool, Stop, Trainer
from rlg.execution.types import Clock, Iteration, mean_metrics


class ActorLearnerLoop(Rounds):
    """One round is what samplers have finished, and one update if that is enough for it.

    In one process samplers are asked until it is. Rollouts in the trainer's queue belong to its
    state.
    """

    def __init__(self, pool: SamplerPool, trainer: Trainer, cadence: Cadence, clock: Clock) -> None:
        super().__init__(pool, trainer, cadence, clock)
        self._waited = 0.0  # seconds for rollouts, since `_noted`
        self._noted = time.perf_counter()

    def iterate(self, stop: Stop) -> Iteration:
        iteration = Iteration()
        if not self._gather(iteration, stop):
            return iteration
        result = self.trainer.learn(self.clock)
        assert result is not None, "enough rollouts wait"
        self.clock = self.clock.after(updates=1)
        iteration.train = {f"train/{k}": v for k, v in mean_metrics([result]).items()}
        self.publish()
        return iteration

    def _gather(self, iteration: Iteration, stop: Stop) -> bool:
        """Whether there are enough rollouts for an update."""
        begun = time.perf_counter()
        if self.pool.is_concurrent:
            self.sample(iteration, stop, wait=not self.trainer.is_ready)
        else:
            while not self.trainer.is_ready and self.sample(iteration, stop):
                pass
        self._waited += time.perf_counter() - begun
        return self.trainer.is_ready

    def statistics(self) -> dict[str, float]:
        """Those of pool and trainer, and the share of time that the learner waited for rollouts."""
        now = time.perf_counter()
        share = self._waited / max(now - self._noted, 1e-9)
        self._waited, self._noted = 0.0, now
        return {**super().statistics(), "time/learner_waiting": share}


class FusedActorLearnerLoop(ActorLearnerLoop):
    """Rollouts go from actors to the learner inside of the graph: what they brought is known when
    an update has taken them.
    """

    trainer: FusedRolloutTrainer
    pool: FusedActorPool

    def _gather(self, iteration: Iteration, stop: Stop) -> bool:
        is_ready = super()._gather(iteration, stop)
        if is_ready:  # The steps of the update that comes now.
            self.clock = self.clock.after(steps=self.trainer.steps)
        return is_ready

    def iterate(self, stop: Stop) -> Iteration:
        iteration = super().iterate(stop)
        if iteration.train:
            notes = self.trainer.notes
            iteration.returns += [float(value) for value in notes["returns"]]
            iteration.lengths += [int(value) for value in notes["lengths"]]
            self.pool.note(notes["actors"], self.clock.updates - 1 - notes["versions"])
        return iteration
