"""The DQN agent: deep Q-learning with replay; double, dueling, prioritized, n-step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from rlg.api.agents.epsilon_greedy import EpsilonGreedyAgent
from rlg.api.agents.observing import Observing
from rlg.execution.adders import Frames, Sequences, Steps, Windows
from rlg.execution.cadence import Cadence
from rlg.execution.roles import Role
from rlg.execution.types import Action, Batch, Clock, LearnResult, Sample
from rlg.graph import Component
from rlg.graph.components.algorithms.distributional_dqn import DistributionalDQN
from rlg.graph.components.algorithms.dqn import DQN
from rlg.graph.components.algorithms.recurrent_dqn import RecurrentDQN
from rlg.graph.components.heads.distributional import check_atoms
from rlg.graph.components.layers.noisy import NoisyDense
from rlg.graph.components.memories.frames import FrameReplay
from rlg.graph.components.memories.prioritized import Prioritized
from rlg.graph.components.networks.auto import for_observations
from rlg.graph.core.component.component import walk
from rlg.graph.limits import (
    FiniteFloat,
    Fraction,
    NonNegativeInt,
    PositiveFloat,
    PositiveFraction,
    PositiveInt,
    Scheduled,
)
from rlg.graph.registry import make
from rlg.graph.spaces import BoolBox, Box, FloatBox, Space


class DQNAgent(EpsilonGreedyAgent, Observing):
    """Deep Q-learning (Mnih et al., 2015) with double targets and a dueling head.

    Keys have Stable-Baselines3's names and meanings: `train_freq`, `learning_starts`,
    `target_update_interval` and `total_timesteps` count environment steps. `exploration`, the
    optimizer's `learning_rate` and the memory's way from `beta` to `final_beta` are schedules over
    the run: time goes from 0 to 1. `noisy` layers are those of the head; a network has its own
    (`noisy: true` of an mlp). `distributional`: C51 or QR-DQN.
    """

    name: ClassVar[str] = "dqn"
    loops: ClassVar[tuple[str, ...]] = ("replay",)
    replicates = True
    figures: ClassVar[tuple[str, ...]] = ()  # that updates return beyond losses and TD errors
    apis: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "actor": ("get_actions",),
        "learner": ("observe", "insert", "update", "update_from", "sync_target"),
        "memory": ("insert",),
    }

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        *,
        network: Any,
        memory: Any = "replay",
        optimizer: Any = "adam",
        total_timesteps: PositiveInt = 50_000,
        gamma: Fraction = 0.99,
        batch_size: PositiveInt = 64,
        learning_starts: PositiveInt = 1_000,
        train_freq: PositiveInt = 4,
        gradient_steps: PositiveInt = 1,
        target_update_interval: PositiveInt = 500,
        tau: PositiveFraction = 1.0,
        double: bool = True,
        dueling: bool = True,
        huber_delta: PositiveFloat | None = 1.0,
        exploration_initial_eps: Fraction = 1.0,
        exploration_final_eps: Fraction = 0.05,
        exploration_fraction: Fraction = 0.1,
        exploration: Annotated[Any, Scheduled(Fraction)] = None,
        n_step: PositiveInt = 1,
        final_beta: Fraction = 1.0,
        sequence_length: PositiveInt = 20,
        burn_in: NonNegativeInt = 0,
        stored_state: bool = False,
        value_rescaling: bool = False,
        noisy: bool = False,
        distributional: Literal["categorical", "quantile"] | None = None,
        n_atoms: PositiveInt = 51,
        v_min: FiniteFloat = -10.0,
        v_max: FiniteFloat = 10.0,
        n_quantiles: PositiveInt = 200,
        num_envs: PositiveInt = 1,
    ) -> None:
        super().__init__(observation_space, action_space, total_timesteps)
        self.network = for_observations(network, self.seen_space)
        self.memory = memory
        self.optimizer = optimizer
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
        epsilons = exploration_initial_eps, exploration_final_eps, exploration_fraction
        self._explore_by(*epsilons, exploration)
        self.n_step = n_step
        self.final_beta = final_beta
        self.sequence_length = sequence_length
        self.burn_in = burn_in
        self.stored_state = stored_state
        self.value_rescaling = value_rescaling
        self.noisy = noisy
        self.distributional = distributional
        self.n_atoms = n_atoms
        self.v_min = v_min
        self.v_max = v_max
        self.n_quantiles = n_quantiles
        self.num_envs = num_envs
        self._memory = make(memory)
        self._network = make(self.network)
        self.is_recurrent = hasattr(self._network, "unroll")
        self._is_noisy = noisy or any(isinstance(x, NoisyDense) for x in walk(self._network))
        self._learning_rates = getattr(make(optimizer), "schedule", None)
        self._check()
        self.restart_adders()
        self._synced_at = 0

    def _check(self) -> None:
        self._check_choices()
        if self._keeps_frames and self.is_recurrent:
            raise self._refusal(
                "the network is recurrent, but frame_replay keeps single steps. Use "
                "another memory (memory=replay_frames, replay or prioritized), or another network."
            )
        if self.is_recurrent and self.n_step > 1:
            raise self._refusal(
                f"n_step is {self.n_step}, but a recurrent network learns from "
                "sequences of single steps. Give n_step 1, or another network."
            )
        if not self.is_recurrent and (self.burn_in or self.stored_state):
            raise self._refusal(
                "burn_in and stored_state are for recurrent networks. Use "
                "network=lstm or gru, or leave them out."
            )
        if self.burn_in >= self.sequence_length:
            raise self._refusal(
                f"burn_in is {self.burn_in}, but a sequence has {self.sequence_length} "
                "steps, and those of the burn-in are not learned from. Lower it."
            )
        if self.value_rescaling and self.distributional is not None:
            raise self._refusal(
                "value_rescaling is for plain Q-values. Set distributional to null."
            )
        if self.is_recurrent and self.distributional is not None:
            raise self._refusal(
                f"distributional is {self.distributional}, but recurrent networks "
                "learn plain Q-values. Set distributional to null, or use another network."
            )
        if self.distributional == "categorical":
            check_atoms(f"agent {self.name}", self.n_atoms, self.v_min, self.v_max)

    def _check_stacks(self, expected: int | None) -> None:
        """The last axis of an image may be its colours: only the environment knows."""
        if self._frame_stack == 0 or expected not in (None, self._frame_stack):
            raise self._refusal(
                "frame_replay keeps frames of stacked images [.., frame_stack], and "
                f"frame_stack is {expected}, but the observations are {self.observation_space}. "
                "Use another memory, or correct memory.frame_stack."
            )

    def make_adder(self) -> Steps:
        if self._keeps_frames:
            return Frames(self.n_step, self._frame_stack)
        if self.is_recurrent:
            hidden = self._network.state_space if self.stored_state else None
            return Sequences(self.sequence_length, self.burn_in, hidden)
        return Windows(self.n_step) if self.n_step > 1 else Steps()

    @property
    def cadence(self) -> Cadence:
        return Cadence(self.learning_starts, self.train_freq, self.gradient_steps)

    def make_root(self) -> Component:
        head, loss = self._head_and_loss()
        masking, sees = self._masking
        kind = "recurrent_q_policy" if self.is_recurrent else "q_policy"
        kind = kind if self.distributional is None else "distributional_q_policy"
        memory = self.memory
        if self.is_recurrent and isinstance(memory, Mapping) and "buffer_size" in memory:
            # A record is a sequence there; the size counts transitions all the same.
            room = max(1, memory["buffer_size"] // self.sequence_length)
            memory = {**memory, "buffer_size": room}
        root: Component = self._root_class()(
            **self._root_options(),
            **masking,
            policy={"type": kind, "network": self.network, "head": head, **sees},
            action_space=self.action_space,
            memory=memory,
            loss={**loss, "gamma": self.gamma, "double": self.double},
            optimizer=self.optimizer,
            tau=self.tau,
            n_step=self.n_step,
        ).configure(scope="agent")
        return root

    def _head_and_loss(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Specs of the policy's head and of the loss, without what all of them share."""
        huber, noisy = {"huber_delta": self.huber_delta}, {"noisy": self.noisy}
        if self.distributional is None:
            kind = "dueling_head" if self.dueling else "q_head"
            rescaling = {"value_rescaling": self.value_rescaling}
            return {"type": kind, **noisy}, {"type": "dqn_loss", **huber, **rescaling}
        head = {"type": f"{self.distributional}_head", "dueling": self.dueling, **noisy}
        loss = {"type": f"{self.distributional}_dqn_loss"}
        if self.distributional == "quantile":
            return {**head, "n_quantiles": self.n_quantiles}, {**loss, **huber}
        atoms = {"n_atoms": self.n_atoms, "v_min": self.v_min, "v_max": self.v_max}
        return {**head, **atoms}, {**loss, **atoms}

    def _root_options(self) -> dict[str, Any]:
        """What the root takes beyond a DQN's arguments."""
        options = {"burn_in": self.burn_in, "stored_state": self.stored_state}
        return options if self.is_recurrent else {}

    def _root_class(self) -> type[DQN]:
        if self.distributional is not None:
            return DistributionalDQN
        return RecurrentDQN if self.is_recurrent else DQN

    def input_spaces(self) -> Mapping[str, Any]:
        if self._keeps_frames:
            self._check_stacks(self._memory.frame_stack)
        number = FloatBox(ranks="")
        # Built for the batch size that will run: then pictures show the plan that runs.
        states = self.observation_space
        spaces: dict[str, Any] = {"states": states, "epsilon": number, "n": self.batch_size}
        spaces |= {"syncs": BoolBox(ranks="T"), "count": self.burst}
        spaces |= self._adder.spaces(self._step_spaces())
        if self.is_recurrent:
            spaces |= {"hidden": self._network.state_space, "resets": BoolBox()}
        if self._learning_rates is not None:
            spaces["learning_rate"] = number
        if self._is_prioritized:
            spaces["beta"] = number
        if isinstance(self._memory, Prioritized):
            spaces["priorities"] = FloatBox()
        return spaces

    @property
    def _keeps_frames(self) -> bool:
        return isinstance(self._memory, FrameReplay)

    @property
    def _frame_stack(self) -> int:
        """The frames of a stack, along its last axis; 0: observations are no images."""
        box = self.observation_space
        return box.shape[-1] if isinstance(box, Box) and len(box.shape) > 1 else 0

    @property
    def _steps_per_record(self) -> int:
        return self.sequence_length - self.burn_in if self.is_recurrent else 1

    # -- actor ------------------------------------------------------------------------------------
    @property
    def columns(self) -> Mapping[str, Space]:
        found: dict[str, Space] = {"actions": self.action_space}
        if self.is_recurrent and self.stored_state:
            found["hidden"] = self._network.state_space
        return found

    @property
    def state_space(self) -> Space | None:
        return self._network.state_space if self.is_recurrent else None

    def act(
        self, observations: Any, state: Any, resets: Any, clock: Clock, *, explore: bool = True
    ) -> Action:
        epsilon = np.float32(self.epsilon_at(clock) if explore else 0.0)
        if not self.is_recurrent:
            actions = self.executor.execute("get_actions", observations, epsilon, explore)
            return Action(actions, {"actions": actions}, state)
        actions, after = self.executor.execute(
            "get_actions", observations, epsilon, state, resets, explore
        )
        columns = {"actions": actions, **({"hidden": state} if self.stored_state else {})}
        return Action(actions, columns, after)

    # -- learner ----------------------------------------------------------------------------------
    def apis_of(self, role: Role) -> tuple[str, ...]:
        apis = super().apis_of(role)
        return (*apis, "updates") if "update" in apis and self.burst > 1 else apis

    @property
    def burst(self) -> int:
        """Updates in one call: one where a loop over updates would not do what single calls do,
        since it draws noise in another order, and has no summaries.
        """
        has_summaries = self._executor is not None and self._executor.collects_summaries
        return 1 if self._is_noisy or has_summaries else super().burst

    def _insertable(self, batch: Batch, first_env: int) -> tuple[Any, ...]:
        records = batch.records
        if self._keeps_frames:
            records = self._renumbered(records, first_env)
        return (records, batch.priorities) if isinstance(self._memory, Prioritized) else (records,)

    def _renumbered(self, records: Mapping[str, Any], first_env: int) -> dict[str, Any]:
        # Replay data of other engines may be of more environments.
        room = self._memory.num_envs
        env_ids = (records["rows"]["env_ids"] + first_env) % room
        rows = {**records["rows"], "env_ids": env_ids}
        return {**records, "rows": rows, "env_ids": (records["env_ids"] + first_env) % room}

    def learn(self, batch: Batch | Sample | None, clock: Clock) -> LearnResult:
        settings = self._scheduled(clock, samples=batch is None)
        inputs: dict[str, Any] = {name: np.float32(value) for name, value in settings.items()}
        priorities = None
        if batch is None:
            loss, td_errors, *more = self.executor.execute("update", self.batch_size, **inputs)
        else:
            if isinstance(batch, Sample):
                inputs["weights"] = batch.weights
            loss, td_errors, priorities, *more = self.executor.execute(
                "update_from", batch.records, **inputs
            )
        if self._is_synced(clock):
            self.executor.execute("sync_target")
        notes = {"loss": loss, "td_error": td_errors, **dict(zip(self.figures, more, strict=True))}
        return LearnResult({**notes, **settings}, priorities)

    def learn_due(self, due: int, clock: Clock) -> LearnResult:
        count = self.burst
        if due < count or count == 1:
            return self.learn(None, clock)
        settings = self._scheduled(clock, samples=True)
        inputs = {name: np.float32(value) for name, value in settings.items()}
        syncs = [self._is_synced(clock.after(updates=made)) for made in range(count)]
        loss, td_errors, *more = self.executor.execute(
            "updates", self.batch_size, count, np.array(syncs), **inputs
        )
        notes = {"loss": loss, "td_error": td_errors, **dict(zip(self.figures, more, strict=True))}
        return LearnResult({**notes, **settings}, updates=count)

    def _is_synced(self, clock: Clock) -> bool:
        """Whether the target is synced after this update; if so, that is noted."""
        if is_due := self._is_sync_due(clock):
            self._synced_at = clock.steps
        return is_due

    def _is_sync_due(self, clock: Clock) -> bool:
        # By whole intervals: rounds of `train_freq` steps that don't divide them add no delay.
        interval = self.target_update_interval
        return clock.steps // interval > self._synced_at // interval

    # -- state ------------------------------------------------------------------------------------
    def get_state(self, *, memory: bool = True) -> dict[str, Any]:
        state = super().get_state(memory=memory)
        state["learner"]["synced_at"] = self._synced_at
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self._synced_at = int(state["learner"]["synced_at"])
