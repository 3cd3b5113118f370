"""A run as a test: within its budget, does it reach the reward that its configuration expects?"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from rlg.api.interruption import Interruption
from rlg.errors import SpecError
from rlg.execution.evaluation import Evaluation

if TYPE_CHECKING:
    from rlg.api.session import Session


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was expected, and what an evaluation of fresh episodes said."""

    expected: float
    evaluation: Evaluation
    steps: int
    seconds: float

    @property
    def is_reached(self) -> bool:
        return self.evaluation.mean_reward >= self.expected


@dataclass(frozen=True, slots=True)
class Expectation:
    """The section `expected` of a run that is a test. None is no bound."""

    mean_reward: float
    total_timesteps: int | None = None
    minutes: float | None = None

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """From a checked configuration; raises if expected.mean_reward is unset."""
        section = config["expected"]
        if section["mean_reward"] is None:
            raise SpecError(
                "expected.mean_reward: --as-test needs one, and the configuration has none. Write "
                "expected.mean_reward=..., or choose an experiment: experiment=cartpole_dqn."
            )
        return cls(section["mean_reward"], section["total_timesteps"], section["minutes"])

    def judge(self, session: Session, seconds: float) -> Verdict:
        """Plays new episodes: the ones that the run was stopped by were chosen."""
        result = session.play(session.evaluation_seed + 1)
        return Verdict(self.mean_reward, result, session.steps, seconds)


class Budget:
    """Asks a run to stop when the user does, or when a test's steps or minutes are used up."""

    def __init__(
        self,
        expectation: Expectation | None,
        steps: Callable[[], int],
        interruption: Interruption,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.expectation = expectation
        self._steps, self._interruption, self._clock = steps, interruption, clock
        self._started = clock()

    @property
    def seconds(self) -> float:
        return self._clock() - self._started

    @property
    def by_user(self) -> bool:
        return self._interruption.requested

    @property
    def requested(self) -> bool:
        if self.by_user or self.expectation is None:
            return self.by_user
        most, minutes = self.expectation.total_timesteps, self.expectation.minutes
        is_spent = minutes is not None and self.seconds >= 60.0 * minutes
        return is_spent or (most is not None and self._steps() >= most)
