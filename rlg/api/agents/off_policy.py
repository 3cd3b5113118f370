"""What agents share that are actor-critics with a replay memory: SAC, TD3, DDPG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from rlg.api.agents.observing import Observing
from rlg.execution.adders import Steps, Windows
from rlg.execution.cadence import Cadence
from rlg.execution.types import Action, Batch, Clock, LearnResult, Sample
from rlg.graph.components.layers.vectors import is_vector
from rlg.graph.components.memories.frames import FrameReplay
from rlg.graph.components.networks.auto import for_observations
from rlg.graph.components.policies.unit_actions import is_continuous, to_unit
from rlg.graph.limits import Fraction, PositiveFraction, PositiveInt
from rlg.graph.registry import make
from rlg.graph.spaces import Box, FloatBox, IntBox, Space


class OffPolicyAgent(Observing):
    """Runs on the loop `replay`: steps into a memory, and updates from it as `cadence` says.

    A subclass says what its root is. Before `learning_starts` steps actions are uniform. Actions
    are learnt from in units of [-1, 1], and scaled for the environment alone. Updates that are due
    at once are one call of the root's `update`.
    """

    loops: ClassVar[tuple[str, ...]] = ("replay", "sharded_replay")
    learns_whole = "its update is several steps that build on each other, with draws between them"
    apis: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "actor": ("act",),
        "preparer": ("prepare",),
        "learner": ("observe", "insert", "update", "update_from"),
        "updater": ("update_from",),
        "memory": ("insert", "sample", "update_priorities"),
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
        tau: PositiveFraction = 0.005,
        batch_size: PositiveInt = 256,
        learning_starts: PositiveInt = 100,
        train_freq: PositiveInt = 1,
        gradient_steps: PositiveInt = 1,
        n_critics: PositiveInt = 2,
        n_step: PositiveInt = 1,
        final_beta: Fraction = 1.0,
        num_envs: PositiveInt = 1,
    ) -> None:
        super().__init__(observation_space, action_space, total_timesteps)
        self.network = for_observations(network, observation_space)
        self.memory = memory
        self.optimizer = optimizer
        self.gamma = gamma
        self.tau = tau
        self.n_critics = n_critics
        self.batch_size = batch_size
        self.learning_starts = learning_starts
        self.train_freq = train_freq
        self.gradient_steps = gradient_steps
        self.n_step = n_step
        self.final_beta = final_beta
        self.num_envs = num_envs
        self._memory = make(memory)
        self._learning_rates = getattr(make(optimizer), "schedule", None)
        self.restart_adders()
        self._is_scaled = is_continuous(action_space)
        self._check()

    def _check(self) -> None:
        if hasattr(make(self.network), "unroll"):
            raise self._refusal(
                "it replays single steps, so it has no recurrent networks. Use "
                "another network (network=mlp)."
            )
        if isinstance(self._memory, FrameReplay):
            raise self._refusal(
                "it keeps whole observations, and frame_replay single frames. "
                "Use another memory: memory=replay or memory=prioritized."
            )
        if not self._is_scaled:
            self._check_choices()

    def _check_choices(self) -> None:
        """Refuses actions that are not continuous, unless the agent has a way with choices."""
        raise self._refusal(
            "it takes floats with finite bounds, but the environment's actions "
            f"are {self.action_space}. {self._advice()}"
        )

    def _advice(self) -> str:
        box = self.action_space
        if isinstance(box, Box) and box.kind == "float":
            return "Bound them in the environment (gymnasium.wrappers.RescaleAction)."
        return "Use another agent (agent=dqn or agent=ppo), or another environment."

    # -- what loops ask ---------------------------------------------------------------------------
    def make_adder(self) -> Steps:
        return Windows(self.n_step) if self.n_step > 1 else Steps()

    @property
    def cadence(self) -> Cadence:
        return Cadence(self.learning_starts, self.train_freq, self.gradient_steps)

    @property
    def joined(self) -> bool:
        """Whether critics see states and actions side by side: states are vectors."""
        return is_vector(self.observation_space)

    # -- spaces -----------------------------------------------------------------------------------
    @property
    def columns(self) -> Mapping[str, Space]:
        if not self._is_scaled:
            return {"actions": self.action_space}
        assert isinstance(self.action_space, Box)
        return {"actions": FloatBox(-1.0, 1.0, self.action_space.shape)}

    def input_spaces(self) -> Mapping[str, Any]:
        number = FloatBox(ranks="")
        spaces: dict[str, Any] = {"states": self.observation_space, "n": self.batch_size}
        spaces |= self._adder.spaces(self._step_spaces())
        if self.n_step > 1:
            spaces["prepare.records"] = spaces["observe.records"]
        spaces |= {"weights": FloatBox(), "keys": IntBox(), "priorities": FloatBox()}
        if self._learning_rates is not None:
            spaces["learning_rate"] = number
        if self._is_prioritized:
            spaces["beta"] = number
        return spaces

    # -- actor ------------------------------------------------------------------------------------
    def is_uniform_at(self, clock: Clock) -> bool:
        """Whether actions are drawn uniformly: there is nothing learnt to act by yet."""
        return clock.steps < self.learning_starts

    def act(
        self, observations: Any, state: Any, resets: Any, clock: Clock, *, explore: bool = True
    ) -> Action:
        uniform = explore and self.is_uniform_at(clock)
        found = self.executor.execute("act", observations, explore, uniform)
        env, actions = found if self._is_scaled else (found, found)
        return Action(env, {"actions": actions})

    def prepare(self, batch: Batch) -> Batch:
        records = self.executor.execute("prepare", batch.records)
        # Not a number: a prioritized memory takes its largest so far.
        return Batch(records, batch.size, np.full(batch.size, np.nan, np.float32))

    # -- learner ----------------------------------------------------------------------------------
    def learn(self, batch: Batch | Sample | None, clock: Clock) -> LearnResult:
        if batch is None:
            return self._learn(1, clock)
        settings = self._scheduled(clock, samples=False)
        inputs: dict[str, Any] = {name: np.float32(value) for name, value in settings.items()}
        if isinstance(batch, Sample):
            inputs["weights"] = batch.weights
        figures, priorities = self.executor.execute("update_from", batch.records, **inputs)
        return LearnResult({**figures, **settings}, priorities)

    def learn_due(self, due: int, clock: Clock) -> LearnResult:
        return self._learn(self.burst if due >= self.burst else 1, clock)

    def _learn(self, count: int, clock: Clock) -> LearnResult:
        settings = self._scheduled(clock, samples=True)
        numbers = {name: np.float32(value) for name, value in settings.items()}
        figures = self.executor.execute("update", self.batch_size, count, **numbers)
        return LearnResult({**figures, **settings}, updates=count)

    # -- the paper's API --------------------------------------------------------------------------
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
        learned = self._in_units(actions) if self._is_scaled else actions
        super().observe(states, learned, rewards, terminals, next_states, env_id, truncations)

    def _in_units(self, actions: Any) -> Any:
        """The environment's actions as they are learnt from."""
        box = self.action_space
        assert isinstance(box, Box)
        return to_unit(*(np.asarray(x, np.float32) for x in (actions, box.low, box.high)))
