"""Asynchronous gradients: whoever samples differentiates too, the learner only descends. A3C.

Gradients are applied one by one as they arrive, however old the weights are that they belong to,
and whoever sent them goes on with what came of them.
"""

from __future__ import annotations

from rlg.execution.loops.rounds import Rounds
from rlg.execution.roles import Stop
from rlg.execution.types import Iteration, mean_metrics


class GradientLoop(Rounds):
    """One round is the gradients of one sampler's task, and one step by them."""

    def iterate(self, stop: Stop) -> Iteration:
        iteration = Iteration()
        if not self.sample(iteration, stop) or not self.trainer.is_ready:
            return iteration  # Stopped on the way, or nothing has arrived from other processes.
        result = self.trainer.learn(self.clock)
        assert result is not None, "gradients have arrived just now"
        self.clock = self.clock.after(updates=1)
        iteration.train = {f"train/{k}": v for k, v in mean_metrics([result]).items()}
        self.publish()
        return iteration
