"""Synchronous batches: sample a segment, learn from it once, throw it away. A2C and PPO."""

from __future__ import annotations

from rlg.execution.loops.rounds import Rounds
from rlg.execution.roles import Stop
from rlg.execution.types import Iteration, mean_metrics


class BatchLoop(Rounds):
    """One round is a task of each sampler and one update from all of them together."""

    def iterate(self, stop: Stop) -> Iteration:
        iteration = Iteration()
        if not self.sample(iteration, stop):
            return iteration
        result = self.trainer.learn(self.clock)
        assert result is not None, "a segment was sampled just now"
        self.clock = self.clock.after(updates=1)
        iteration.train = {f"train/{k}": v for k, v in mean_metrics([result]).items()}
        self.publish()
        return iteration
