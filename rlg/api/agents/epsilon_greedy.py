"""What agents share that act by the best Q-value, and now and then at random."""

from __future__ import annotations

from typing import Any

from rlg.api.agents.agent import Agent
from rlg.execution.types import Clock
from rlg.graph.components.schedules import make_schedule
from rlg.graph.components.schedules.schedule import Schedule
from rlg.graph.limits import first_violation
from rlg.graph.registry import parameters_of
from rlg.graph.spaces import Box


class EpsilonGreedyAgent(Agent):
    """Takes choices; epsilon, the share of random ones, is a function of the clock."""

    exploration_initial_eps: float
    exploration_final_eps: float
    exploration_fraction: float
    _epsilons: Schedule | None

    def _explore_by(self, initial: float, final: float, fraction: float, exploration: Any) -> None:
        """Keeps the keys of the same names; `exploration` is a schedule in place of the others."""
        self.exploration_initial_eps = initial
        self.exploration_final_eps = final
        self.exploration_fraction = fraction
        self.exploration = exploration
        self._epsilons = None if exploration is None else make_schedule(exploration)

    def _check_choices(self) -> None:
        """Refuses other actions, and numbers that are out of bounds."""
        box = self.action_space
        if not isinstance(box, Box) or not isinstance(box.num_categories, int):
            raise self._refusal(
                "it takes one choice, or several among equally many, but the environment's actions "
                f"are {box}. Use another agent (agent=ppo), or another environment."
            )
        limits = {name: p.annotation for name, p in parameters_of(type(self)).items()}
        wrong = first_violation(vars(self), limits)
        if wrong is not None:
            raise self._refusal(f"{wrong}.")

    def epsilon_at(self, clock: Clock) -> float:
        """The share of random actions: linear over the first part of the run, then constant."""
        if self._epsilons is not None:
            return self._epsilons.at(clock.progress)
        span = self.exploration_fraction * clock.horizon
        progress = min(1.0, clock.steps / span) if span else 1.0
        start, end = self.exploration_initial_eps, self.exploration_final_eps
        return start + progress * (end - start)

    @property
    def epsilon(self) -> float:
        """The share of random actions now, by the clock of the paper's API."""
        return self.epsilon_at(self.clock)

    def rollout_metrics(self, clock: Clock) -> dict[str, float]:
        return {"exploration_rate": self.epsilon_at(clock)}
