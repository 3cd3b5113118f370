"""The DQN agent: deep Q-learning with replay; double, dueling, prioritized, n-step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlg.api.agents.agent import Agent
from rlg.api.agents.hidden import Hidden
from rlg.api.agents.intakes import Rows, Sequences, Steps, Windows, as_steps
from rlg.errors import ComponentError, ExecutionError
from rlg.graph import Component
from rlg.graph.components.algorithms.dqn import DQN
from rlg.graph.components.algorithms.recurrent_dqn import RecurrentDQN
from rlg.graph.components.memories.frames import FrameReplay
from rlg.graph.components.memories.prioritized import has_priorities
from rlg.graph.components.schedules import make_schedule
from rlg.graph.components.schedules.schedule import Schedule
from rlg.graph.registry import make
from rlg.graph.spaces import BoolBox, Box, FloatBox, Space, flatten


class DQNAgent(Agent):
    """Deep Q-learning (Mnih et al., 2015) with double targets and a dueling head.

    Keys have Stable-Baselines3's names and meanings: `train_freq`, `learning_starts`,
    `target_update_interval` and `total_timesteps` count environment steps. `exploration`, the
    optimizer's `learning_rate` and the memory's way from `beta` to `final_beta` are schedules over
    the run: time goes from 0 to 1.
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
        exploration: Any = None,
        n_step: int = 1,
        final_beta: float = 1.0,
        sequence_length: int = 20,
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
        self.exploration = exploration
        self.n_step = n_step
        self.final_beta = final_beta
        self.sequence_length = sequence_length
        self._memory = make(memory)
        self._network = make(network)
        self.is_recurrent = hasattr(self._network, "unroll")
        # By `env_id`: windows and sequences never run on into other environments.
        self._intakes: dict[str | None, Steps] = {None: self._make_intake()}
        # Apart, with and without exploration: those are different environments.
        kinds = (True, False) if self.is_recurrent else ()
        self._hidden = {explore: Hidden(self._network.state_space) for explore in kinds}
        self._epsilons = None if exploration is None else make_schedule(exploration)
        self._learning_rates: Schedule | None = getattr(make(optimizer), "schedule", None)
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
            "n_step",
            "sequence_length",
        ):
            if getattr(self, name) < 1:
                raise ComponentError(f"agent dqn: {name} is {getattr(self, name)}; give 1 or more.")
        for name in ("exploration_initial_eps", "exploration_final_eps", "exploration_fraction"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ComponentError(
                    f"agent dqn: {name} is {getattr(self, name)}; it is from 0 to 1."
                )
        if self._keeps_frames and (self.n_step > 1 or self.is_recurrent):
            what = "the network remembers" if self.is_recurrent else f"n_step is {self.n_step}"
            raise ComponentError(
                f"agent dqn: {what}, but frame_replay keeps single steps. Use another memory "
                "(memory=replay_frames, replay or prioritized), or one step and a network without "
                "memory."
            )
        if self.is_recurrent and self.n_step > 1:
            raise ComponentError(
                f"agent dqn: n_step is {self.n_step}, but a network that remembers learns from "
                "sequences of single steps. Give n_step 1, or another network."
            )

    def _make_intake(self) -> Steps:
        if self._keeps_frames:
            return Rows()
        if self.is_recurrent:
            return Sequences(self.sequence_length)
        return Windows(self.n_step) if self.n_step > 1 else Steps()

    def _intake_of(self, env_id: str | None) -> Steps:
        if env_id not in self._intakes:
            if self._keeps_frames:
                raise ExecutionError(
                    f"agent dqn: observe(env_id={env_id!r}), but frame_replay keeps the frames of "
                    "all environments in one order. Hand in steps of all of them, [B, ...], "
                    "without env_id, or use another memory."
                )
            self._intakes[env_id] = self._make_intake()
        return self._intakes[env_id]

    def make_root(self) -> Component:
        head = "dueling_head" if self.dueling else "q_head"
        kind = "recurrent_q_policy" if self.is_recurrent else "q_policy"
        memory = self.memory
        if self.is_recurrent and isinstance(memory, Mapping) and "buffer_size" in memory:
            # A record is a sequence there; the size counts transitions all the same.
            room = max(1, memory["buffer_size"] // self.sequence_length)
            memory = {**memory, "buffer_size": room}
        root: Component = (RecurrentDQN if self.is_recurrent else DQN)(
            policy={"type": kind, "network": self.network, "head": head},
            action_space=self.action_space,
            memory=memory,
            loss={
                "type": "dqn_loss",
                "gamma": self.gamma,
                "double": self.double,
                "huber_delta": self.huber_delta,
            },
            optimizer=self.optimizer,
            tau=self.tau,
            n_step=self.n_step,
        ).configure(scope="agent")
        return root

    def input_spaces(self) -> Mapping[str, Any]:
        states, actions = self.observation_space, self.action_space
        number = FloatBox(ranks="")
        steps = {
            "states": states,
            "actions": actions,
            "rewards": FloatBox(),
            "terminals": BoolBox(),
            "next_states": states,
            "truncations": BoolBox(),
        }
        spaces = {"states": states, "epsilon": number, **self._intakes[None].spaces(steps)}
        if self.is_recurrent:
            spaces |= {"hidden": self._network.state_space, "resets": BoolBox()}
        if self._learning_rates is not None:
            spaces["learning_rate"] = number
        if self._is_prioritized:
            spaces["beta"] = number
        return spaces

    @property
    def _keeps_frames(self) -> bool:
        return isinstance(self._memory, FrameReplay)

    @property
    def _is_prioritized(self) -> bool:
        return has_priorities(self._memory)

    @property
    def progress(self) -> float:
        """The share of the run that is gone."""
        return self.timesteps / self.total_timesteps

    @property
    def beta(self) -> float:
        """The exponent of importance weights now."""
        start: float = self._memory.beta
        return start + min(1.0, self.progress) * (self.final_beta - start)

    @property
    def epsilon(self) -> float:
        """The share of random actions now: linear over the first part of the run, then constant."""
        if self._epsilons is not None:
            return self._epsilons.at(self.progress)
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
        if self.is_recurrent:
            memory = self._hidden[explore]
            hidden, resets = memory.of(len(next(iter(flatten(states).values()))))
            actions, hidden = self.executor.execute(
                "get_actions", states, epsilon, hidden, resets, explore
            )
            memory.keep(hidden)
        else:
            actions = self.executor.execute("get_actions", states, epsilon, explore)
        return actions[0] if is_single else actions

    def forget(self, ended: Any = None, explore: bool = True) -> None:
        if self.is_recurrent:
            self._hidden[explore].forget(ended)

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
        records = {
            "states": states,
            "actions": actions,
            "rewards": rewards,
            "terminals": terminals,
            "next_states": next_states,
            "truncations": np.zeros(np.shape(rewards), np.bool_),
        }
        if truncations is not None:
            records["truncations"] = truncations
        for batch, count in self._intake_of(env_id).batches(as_steps(records)):
            self.executor.execute("observe", batch)
            self.stored += count
        self.timesteps += np.size(rewards)

    def update(self, batch: Any = None, sequence_indices: Any = None) -> dict[str, Any]:
        if sequence_indices is not None:
            raise ExecutionError(
                "agent dqn: it learns from single transitions, not from sequences."
            )
        settings: dict[str, float] = {}
        if self._learning_rates is not None:
            settings["learning_rate"] = self._learning_rates.at(self.progress)
        if batch is None and self._is_prioritized:
            settings["beta"] = self.beta
        numbers = {name: np.float32(value) for name, value in settings.items()}
        if batch is None:
            loss, td_errors = self.executor.execute("update", self.batch_size, **numbers)
        else:
            loss, td_errors = self.executor.execute("update_from", batch, **numbers)
        self.updates += 1
        # By whole intervals: rounds of `train_freq` steps that don't divide them add no delay.
        interval = self.target_update_interval
        if self.timesteps // interval > self._synced_at // interval:
            self.executor.execute("sync_target")
            self._synced_at = self.timesteps
        return {"loss": loss, "td_error": td_errors, **settings}

    def get_state(self) -> dict[str, Any]:
        state = super().get_state()
        state["counters"]["synced_at"] = self._synced_at
        state["pending"] = self._intakes[None].state()
        named = {name: intake.state() for name, intake in self._intakes.items() if name is not None}
        if named:
            state["pending"]["named"] = named
        if self.is_recurrent:
            state["pending"]["hidden"] = self._hidden[True].state()
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self._synced_at = int(state["counters"]["synced_at"])
        pending = state.get("pending", {})
        named = pending.get("named", {})
        self._intakes = {None: self._make_intake(), **{name: self._make_intake() for name in named}}
        self._intakes[None].restore(pending)
        for name, waiting in named.items():
            self._intakes[name].restore(waiting)
        if "hidden" in pending:
            self._hidden[True].restore(pending["hidden"])
