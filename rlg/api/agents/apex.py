"""The Ape-X agent: DQN with many actors, n-step windows and priorities from the first moment."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

import numpy as np

from rlg.api.agents.dqn import DQNAgent
from rlg.execution.adders import Frames, PrioritizedWindows, Steps
from rlg.execution.types import Action, Batch, Clock
from rlg.graph.components.actions import num_choices
from rlg.graph.components.algorithms.apex import ApexDQN
from rlg.graph.components.algorithms.distributional_dqn import DistributionalApexDQN
from rlg.graph.components.algorithms.dqn import DQN
from rlg.graph.components.explorations.apex import apex_epsilons
from rlg.graph.components.memories.prioritized import Prioritized
from rlg.graph.limits import Fraction, NonNegativeFloat, PositiveInt
from rlg.graph.spaces import Box, FloatBox, IntBox, Space, flatten

_floors = cache(apex_epsilons)  # the same in every step of a run


class ApexAgent(DQNAgent):
    """Distributed prioritized replay (Horgan et al., 2018) with double and dueling DQN.

    Keys are DQN's. Each environment of each worker explores by an epsilon of its own: environment
    i of N never goes below `actor_epsilon ** (1 + actor_epsilon_alpha * i / (N - 1))`, and all come
    down to that from `exploration_initial_eps` over the first `exploration_fraction` of a run.
    """

    name: ClassVar[str] = "apex"
    loops: ClassVar[tuple[str, ...]] = ("replay", "sharded_replay")
    apis: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "actor": ("act",),
        "preparer": ("prepare",),
        "learner": ("observe", "insert", "update", "update_from", "sync_target"),
        "updater": ("update_from", "sync_target"),
        "memory": ("insert", "sample", "update_priorities"),
    }

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        *,
        network: Any,
        memory: Any = "prioritized_replay",
        optimizer: Any = "adam",
        n_step: PositiveInt = 3,
        exploration_final_eps: Fraction = 0.0,
        actor_epsilon: Fraction = 0.4,
        actor_epsilon_alpha: NonNegativeFloat = 7.0,
        num_envs: PositiveInt = 1,
        **options: Any,
    ) -> None:
        self.actor_epsilon = actor_epsilon
        self.actor_epsilon_alpha = actor_epsilon_alpha
        super().__init__(
            observation_space,
            action_space,
            network=network,
            memory=memory,
            optimizer=optimizer,
            n_step=n_step,
            exploration_final_eps=exploration_final_eps,
            num_envs=num_envs,
            **options,
        )

    def _check(self) -> None:
        if self.is_recurrent:
            raise self._refusal(
                "its memories keep windows of steps and no sequences, so it has no "
                "recurrent networks. Use agent=r2d2, or another network."
            )
        super()._check()
        if not isinstance(self._memory, Prioritized):
            raise self._refusal(
                "it replays by priorities, and the memory has none. Use "
                "memory=prioritized, or memory=prioritized_frames for images."
            )

    def _root_class(self) -> type[DQN]:
        return ApexDQN if self.distributional is None else DistributionalApexDQN

    @property
    def _is_prioritized(self) -> bool:
        return True

    @property
    def _q_values(self) -> Space:
        assert isinstance(self.action_space, Box)
        return Box((*self.action_space.shape, num_choices(self.action_space)))

    def make_adder(self) -> Steps:
        if self._keeps_frames:
            return Frames(self.n_step, self._frame_stack, self._q_values)
        return PrioritizedWindows(self.n_step, self._q_values)

    def input_spaces(self) -> Mapping[str, Any]:
        numbers = {"epsilon": FloatBox(), "weights": FloatBox()}
        return {**super().input_spaces(), **numbers, "keys": IntBox()}

    # -- actor ------------------------------------------------------------------------------------
    def epsilons_at(self, clock: Clock, num_envs: int) -> Any:
        """The share of random actions in each environment of this worker, float32 [num_envs]."""
        index, count = self.place
        floors = _floors(count * num_envs, self.actor_epsilon, self.actor_epsilon_alpha)
        mine = floors[index * num_envs : (index + 1) * num_envs]
        return np.maximum(mine, np.float32(self.epsilon_at(clock)))

    def rollout_metrics(self, clock: Clock) -> dict[str, float]:
        rate = self.epsilon_at(clock)
        floors = _floors(self.num_envs, self.actor_epsilon, self.actor_epsilon_alpha)
        epsilons = np.maximum(floors, np.float32(rate))
        return {
            "exploration_rate": float(epsilons.mean()),
            "exploration_rate_min": float(epsilons.min()),
            "exploration_rate_max": float(epsilons.max()),
        }

    @property
    def columns(self) -> Mapping[str, Space]:
        return {"actions": self.action_space, "q_values": self._q_values}

    def act(
        self, observations: Any, state: Any, resets: Any, clock: Clock, *, explore: bool = True
    ) -> Action:
        num_envs = len(next(iter(flatten(observations).values())))
        # Without exploration there is one, of zeros, which nobody looks at.
        epsilons = self.epsilons_at(clock, num_envs) if explore else np.zeros(num_envs, "float32")
        actions, q_values = self.executor.execute("act", observations, epsilons, explore)
        return Action(actions, {"actions": actions, "q_values": q_values}, None)

    def prepare(self, batch: Batch) -> Batch:
        records, priorities = self.executor.execute("prepare", batch.records)
        return Batch(records, batch.size, priorities)
