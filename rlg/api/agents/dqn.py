"""The DQN agent: deep Q-learning with replay, double and dueling by default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlg.api.agents.agent import Agent
from rlg.errors import ComponentError, ExecutionError
from rlg.graph import Component
from rlg.graph.components.algorithms.dqn import DQN
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, Space


class DQNAgent(Agent):
    """Deep Q-learning (Mnih et al., 2015) with double targets and a dueling head.

    Keys have Stable-Baselines3's names and meanings: `train_freq`, `learning_starts`,
    `target_update_interval` and `total_timesteps` count environment steps.
    """

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        *,
        network: Any,
        memory: Any = "replay",
        optimizer: Any = "adam",
        total_timesteps: int = 50_000,
        gamma: float = 0.99,
        batch_size: int = 64,
        learning_starts: int = 1_000,
        train_freq: int = 4,
        gradient_steps: int = 1,
        target_update_interval: int = 500,
        tau: float = 1.0,
        double: bool = True,
        dueling: bool = True,
        huber_delta: float | None = 1.0,
        exploration_initial_eps: float = 1.0,
        exploration_final_eps: float = 0.05,
        exploration_fraction: float = 0.1,
    ) -> None:
        super().__init__(observation_space, action_space)
        self.network = network
        self.memory = memory
        self.optimizer = optimizer
        self.total_timesteps = total_timesteps
        self.gamma = gamma
        self.batch_size = batch_size
        self.learning_starts = learning_starts
        self.train_freq = train_freq
        self.gradient_steps = gradient_steps
        self.target_update_interval = target_update_interval
        self.tau = tau
        self.double = double
        self.dueling = dueling
        self.huber_delta = huber_delta
        self.exploration_initial_eps = exploration_initial_eps
        self.exploration_final_eps = exploration_final_eps
        self.exploration_fraction = exploration_fraction
        self._check()
        self._synced_at = 0

    def _check(self) -> None:
        box = self.action_space
        if not isinstance(box, Box) or box.kind != "int" or box.num_categories is None:
            raise ComponentError(
                f"agent dqn: it takes discrete actions, but the environment's are {box}. Use an "
                "agent for continuous actions, or another environment."
            )
        for name in (
            "batch_size",
            "train_freq",
            "gradient_steps",
            "learning_starts",
            "target_update_interval",
        ):
            if getattr(self, name) < 1:
                raise ComponentError(f"agent dqn: {name} is {getattr(self, name)}; give 1 or more.")
        for name in ("exploration_initial_eps", "exploration_final_eps", "exploration_fraction"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ComponentError(
                    f"agent dqn: {name} is {getattr(self, name)}; it is from 0 to 1."
                )

    def make_root(self) -> Component:
        head = "dueling_head" if self.dueling else "q_head"
        root: Component = DQN(
            policy={"type": "q_policy", "network": self.network, "head": head},
            action_space=self.action_space,
            memory=self.memory,
            loss={
                "type": "dqn_loss",
                "gamma": self.gamma,
                "double": self.double,
                "huber_delta": self.huber_delta,
            },
            optimizer=self.optimizer,
            tau=self.tau,
        ).configure(scope="agent")
        return root

    def input_spaces(self) -> Mapping[str, Any]:
        states, actions = self.observation_space, self.action_space
        records = Dict(
            states=states,
            actions=actions,
            rewards=FloatBox(),
            terminals=BoolBox(),
            next_states=states,
        )
        return {"states": states, "epsilon": FloatBox(ranks=""), "records": records}

    @property
    def epsilon(self) -> float:
        """The share of random actions now: linear over the first part of the run, then constant."""
        span = self.exploration_fraction * self.total_timesteps
        progress = min(1.0, self.timesteps / span) if span else 1.0
        start, end = self.exploration_initial_eps, self.exploration_final_eps
        return start + progress * (end - start)

    @property
    def is_ready(self) -> bool:
        """Whether there is enough experience to learn from."""
        return self.stored >= self.learning_starts

    def get_actions(self, states: Any, explore: bool = True, preprocess: bool = True) -> Any:
        states, is_single = self._batched(states)
        epsilon = np.float32(self.epsilon if explore else 0.0)
        actions = self.executor.execute("get_actions", states, epsilon, explore)
        return actions[0] if is_single else actions

    def observe(
        self,
        states: Any,
        actions: Any,
        rewards: Any,
        terminals: Any,
        next_states: Any,
        env_id: str | None = None,
    ) -> None:
        states, is_single = self._batched(states)
        if is_single:
            next_states, _ = self._batched(next_states)
            actions, rewards, terminals = ([value] for value in (actions, rewards, terminals))
        records = {
            "states": states,
            "actions": actions,
            "rewards": rewards,
            "terminals": terminals,
            "next_states": next_states,
        }
        self.executor.execute("observe", records)
        self.timesteps += len(rewards)
        self.stored += len(rewards)

    def update(self, batch: Any = None, sequence_indices: Any = None) -> dict[str, Any]:
        if sequence_indices is not None:
            raise ExecutionError(
                "agent dqn: it learns from single transitions, not from sequences."
            )
        if batch is None:
            loss, td_errors = self.executor.execute("update", self.batch_size)
        else:
            loss, td_errors = self.executor.execute("update_from", batch)
        self.updates += 1
        if self.timesteps - self._synced_at >= self.target_update_interval:
            self.executor.execute("sync_target")
            self._synced_at = self.timesteps
        return {"loss": loss, "td_error": td_errors}

    def get_state(self) -> dict[str, Any]:
        state = super().get_state()
        state["counters"]["synced_at"] = self._synced_at
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self._synced_at = int(state["counters"]["synced_at"])
