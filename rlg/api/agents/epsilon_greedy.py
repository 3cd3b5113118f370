"""What agents share that act by the best Q-value, and now and then at random."""

from __future__ import annotations

from typing import Any, ClassVar

from rlg.api.agents.agent import Agent
from rlg.api.agents.masks import parted, seen_keys
from rlg.execution.types import Clock
from rlg.graph.components.actions import discrete, num_choices
from rlg.graph.components.policies.masked import MASK
from rlg.graph.components.schedules import make_schedule
from rlg.graph.components.schedules.schedule import Schedule
from rlg.graph.limits import first_violation
from rlg.graph.registry import parameters_of
from rlg.graph.spaces import Box, Dict, Space


class EpsilonGreedyAgent(Agent):
    """Takes choices; epsilon, the share of random ones, is a function of the clock.

    Where observations are a Dict with the key `action_mask`, only those that it allows: the policy
    splits it off, so that records hold whole observations, with the masks of next states.
    """

    takes_masks: ClassVar[bool] = True
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

    @property
    def seen_space(self) -> Space:
        """What the network sees."""
        return parted(self.observation_space)[0]

    @property
    def _masking(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the root takes where there are masks, and what its policy takes."""
        space = self.observation_space
        if not isinstance(space, Dict) or MASK not in space:
            return {}, {}
        return {"exploration": {"type": "epsilon_greedy", "masked": True}}, {
            "sees": seen_keys(space)
        }

    def _check_choices(self) -> None:
        """Refuses other actions, masks of other shapes, and numbers that are out of bounds."""
        box = self.action_space
        if not isinstance(box, Box) or not isinstance(box.num_categories, int):
            raise self._refusal(
                "it takes discrete actions, one choice or several among equally many, but the "
                f"environment's are {box}. Use another agent (agent=ppo), or another environment."
            )
        _, masks = parted(self.observation_space)
        if masks is not None:
            self._check_shape(masks, discrete(type(self).__name__, box))
        limits = {name: p.annotation for name, p in parameters_of(type(self)).items()}
        wrong = first_violation(vars(self), limits)
        if wrong is not None:
            raise self._refusal(f"{wrong}.")

    def _check_shape(self, masks: Box, actions: Box) -> None:
        wanted = (*actions.shape, num_choices(actions))
        if masks.shape != wanted:
            raise self._refusal(
                f"{MASK!r} in the observations has the shape {masks.shape}, but the actions are "
                f"{actions}. Give it the shape {wanted}, one number for each choice."
            )

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
