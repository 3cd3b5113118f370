"""A policy to compare others with."""

from __future__ import annotations

from typing import Any

from rlg.graph import Component, Static, api
from rlg.graph.components.explorations.uniform import UniformActions


class RandomPolicy(Component):
    """Uniform actions, whatever the states are; see UniformActions.

    Evaluations (without `explore`) draw from a stream of their own: how often a run is evaluated
    changes nothing of what it does.
    """

    def __init__(self, action_space: Any) -> None:
        self.acting = UniformActions(action_space)
        self.evaluating = UniformActions(action_space)
        self.action_space = self.acting.action_space

    @api
    def act(self, states: Any, explore: Static[bool] = True) -> Any:
        return self.acting.draw(states) if explore else self.evaluating.draw(states)
