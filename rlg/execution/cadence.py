"""How many updates are due: a function of the clock, so nothing is rounded away or saved twice."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rlg.execution.types import Clock


@dataclass(frozen=True, slots=True)
class Cadence:
    """`gradient_steps` updates per `train_freq` environment steps, from `starts` on.

    The first ones are due at `starts`. Whatever the number of environments, the ratio holds:
    `train_freq: 4` with 8 environments is two updates per vector step.
    """

    starts: int
    train_freq: int
    gradient_steps: int
    base: int = 0  # updates that were made before `starts`
    pretraining: int = 0  # updates before the first step, from what the memory begins with

    def is_pretraining(self, clock: Clock) -> bool:
        """Whether updates come first, and steps later."""
        return clock.updates < self.pretraining

    def due(self, clock: Clock) -> int:
        """Updates to make now."""
        if self.is_pretraining(clock):
            return self.pretraining - clock.updates
        since = clock.steps - self.starts
        if since < 0:
            return 0
        rounds = since // self.train_freq + 1
        return max(0, rounds * self.gradient_steps - (clock.updates - self.base))

    def may_sample(self, clock: Clock, ahead: int, slack: int) -> bool:
        """Whether steps beyond the clock's, `ahead` of them, keep to the ratio within `slack`.

        So that samplers that never wait don't leave the learner behind.
        """
        learnt = (clock.updates - self.base) * self.train_freq // self.gradient_steps
        return clock.steps + ahead <= self.starts + learnt + slack

    def restarted(self, clock: Clock, wait: int) -> Cadence:
        """The same ratio counted anew, after `wait` more steps: the memory is empty, or the
        ratio has changed, and what was missed is not made up.
        """
        return replace(self, starts=clock.steps + wait, base=clock.updates)

    def has_ratio_of(self, other: Cadence) -> bool:
        """Whether both make the same number of updates per step."""
        ratio = (self.train_freq, self.gradient_steps)
        return ratio == (other.train_freq, other.gradient_steps)
