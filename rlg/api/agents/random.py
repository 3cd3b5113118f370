"""The random agent: a baseline that learns nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from rlg.api.agents.agent import Agent
from rlg.errors import SpaceError
from rlg.execution.adders import Steps
from rlg.execution.cadence import Cadence
from rlg.execution.types import Action, Batch, Clock
from rlg.graph import Component
from rlg.graph.components.algorithms.random import RandomPolicy
from rlg.graph.components.explorations.uniform import UniformActions
from rlg.graph.limits import PositiveInt
from rlg.graph.spaces import Space


class RandomAgent(Agent):
    """Uniform actions, in training and in evaluations. It keeps nothing and is never updated.

    Evaluations draw from a stream of their own, which moves on: this agent without chance would be
    another one.
    """

    name: ClassVar[str] = "random"
    loops: ClassVar[tuple[str, ...]] = ("replay",)
    parts: ClassVar[tuple[str, ...]] = ()
    learns_whole = "it learns nothing"
    # A graph must have something: memories that checkpoints move through are empty.
    apis: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
        ("actor", "learner", "memory"), ("act",)
    )
    acting_scopes: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        *,
        total_timesteps: PositiveInt = 50_000,
    ) -> None:
        super().__init__(observation_space, action_space, total_timesteps)
        try:
            UniformActions(action_space)
        except SpaceError as error:
            raise self._refusal(str(error)) from None

    def make_root(self) -> Component:
        root: Component = RandomPolicy(self.action_space).configure(scope="agent")
        return root

    def input_spaces(self) -> Mapping[str, Any]:
        return {"states": self.observation_space}

    def make_adder(self) -> Steps:
        return Steps()

    @property
    def cadence(self) -> Cadence:
        return Cadence(sys.maxsize, 1, 1)  # Never.

    def act(
        self, observations: Any, state: Any, resets: Any, clock: Clock, *, explore: bool = True
    ) -> Action:
        actions = self.executor.execute("act", observations, explore)
        return Action(actions, {"actions": actions})

    def insert(self, batch: Batch, first_env: int = 0) -> None:
        """Forgets them."""

    def export(self) -> Iterator[Batch]:
        """No replay data."""
        return iter(())

    def observe(
        self,
        states: Any,
        actions: Any,
        rewards: Any,
        terminals: Any,
        next_states: Any,
        env_id: str | None = None,
        truncations: Any = None,
    ) -> None:
        self.clock = self.clock.after(steps=np.size(rewards))
