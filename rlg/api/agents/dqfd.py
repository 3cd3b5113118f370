"""The DQfD agent: DQN that begins with demonstrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.dqn import DQNAgent
from rlg.backends.executor import GraphExecutor
from rlg.errors import SpecError
from rlg.execution.adders import Steps, Windows
from rlg.execution.cadence import Cadence
from rlg.execution.demonstrations import read_demonstrations
from rlg.execution.roles import Role
from rlg.execution.types import Clock
from rlg.graph.components.algorithms.dqfd import DQfD
from rlg.graph.components.algorithms.dqn import DQN
from rlg.graph.components.memories.demonstrations import DemonstrationReplay
from rlg.graph.components.memories.one_and_n_step import SINGLE
from rlg.graph.core.build.builder import BuildStatistics
from rlg.graph.limits import NonNegativeFloat, NonNegativeInt, PositiveInt
from rlg.graph.spaces import Dict, FloatBox, Space, map_leaves


class DQfDAgent(DQNAgent):
    """Deep Q-learning from demonstrations (Hester et al., 2018).

    Keys are DQN's. `demonstrations` names a file that `rlg eval RUN --record FILE` wrote: they go
    into the memory for good, and `pretrain_updates` updates are made from them before the first
    step. The loss is that of one step, `n_step_weight` times that of n_step, `margin_weight` times
    the large margin of demonstrated actions, and `l2` times half the squares of all weights.
    """

    name: ClassVar[str] = "dqfd"
    files: ClassVar[tuple[str, ...]] = ("demonstrations",)
    figures: ClassVar[tuple[str, ...]] = ("n_step_loss", "margin_loss", "demonstrations")
    apis: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **DQNAgent.apis,
        "learner": (*DQNAgent.apis["learner"], "demonstrate"),
    }

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        *,
        network: Any,
        memory: Any = "demonstration_replay",
        optimizer: Any = "adam",
        demonstrations: str | None = None,
        pretrain_updates: NonNegativeInt = 1_000,
        n_step: PositiveInt = 10,
        n_step_weight: NonNegativeFloat = 1.0,
        margin: NonNegativeFloat = 0.8,
        margin_weight: NonNegativeFloat = 1.0,
        l2: NonNegativeFloat = 1e-5,
        num_envs: PositiveInt = 1,
        **options: Any,
    ) -> None:
        self.demonstrations = demonstrations
        self.pretrain_updates = pretrain_updates
        self.n_step_weight = n_step_weight
        self.margin = margin
        self.margin_weight = margin_weight
        self.l2 = l2
        self.demonstrated = 0  # steps of demonstrations in the memory
        super().__init__(
            observation_space,
            action_space,
            network=network,
            memory=memory,
            optimizer=optimizer,
            n_step=n_step,
            num_envs=num_envs,
            **options,
        )

    def _check(self) -> None:
        if self.is_recurrent or self.distributional is not None:
            raise self._refusal(
                "it learns plain Q-values from single steps. Use a network that "
                "is not recurrent, and set distributional to null."
            )
        super()._check()
        if not isinstance(self._memory, DemonstrationReplay):
            raise self._refusal(
                f"the memory is a {type(self._memory).__name__}, which would overwrite "
                "demonstrations. Use memory=demonstrations."
            )

    def make_adder(self) -> Steps:
        return Windows(self.n_step)

    @property
    def cadence(self) -> Cadence:
        first = self.pretrain_updates
        ratio = (self.learning_starts, self.train_freq, self.gradient_steps)
        return Cadence(*ratio, base=first, pretraining=first)

    def _root_class(self) -> type[DQN]:
        return DQfD

    def _root_options(self) -> dict[str, Any]:
        names = ("n_step_weight", "margin", "margin_weight", "l2")
        return {name: getattr(self, name) for name in names}

    def input_spaces(self) -> Mapping[str, Any]:
        spaces = super().input_spaces()
        segments = spaces["observe.records"]
        return {**spaces, "records": self.record_space(), "demonstrate.records": segments}

    def record_space(self) -> Space:
        steps = self._step_spaces()
        del steps["truncations"]
        windows = {f"n_step_{name}": steps[name] for name in SINGLE}
        return Dict({**steps, **windows, "discounts": FloatBox()})

    # -- demonstrations ---------------------------------------------------------------------------
    def build(
        self,
        options: BuildOptions | None = None,
        roles: Sequence[Role] = (),
        executor: GraphExecutor | None = None,
    ) -> BuildStatistics:
        """Builds the graph; a learner's memory has the demonstrations from then on."""
        if "learner" in roles and self.demonstrations is None:
            raise SpecError(
                "agent.demonstrations: missing. Name a file of demonstrations; `rlg eval RUN "
                "--record FILE` writes one."
            )
        statistics = super().build(options, roles, executor)
        if self.demonstrations is not None and (not roles or "learner" in roles):
            self.demonstrate(self.demonstrations)
        return statistics

    def demonstrate(self, path: str | Path) -> None:
        """Stores the demonstrations of a file in the memory, before any other record."""
        steps = read_demonstrations(path, self.observation_space, self.action_space)
        count, room = len(steps["rewards"]), self._memory.buffer_size
        if self.stored + count >= room:
            raise SpecError(
                f"agent.demonstrations: {path} has {count:,} steps, and the agent's own go beside "
                f"them, but memory.buffer_size is {room:,}. Raise it, or record fewer episodes."
            )
        # The last step ends an episode: windows don't look at what is put behind it.
        behind = map_leaves(lambda x: np.repeat(x[-1:], self.n_step - 1, 0), steps)
        whole = map_leaves(lambda x, y: np.concatenate([x, y])[:, None], steps, behind)
        self.executor.execute("demonstrate", whole)
        self.demonstrated += count
        self.stored += count

    def _is_sync_due(self, clock: Clock) -> bool:
        """Before the first step as often, in updates, as afterwards; also at its end."""
        made = clock.updates + 1
        if made > self.pretrain_updates:
            return super()._is_sync_due(clock)
        interval = self.target_update_interval * self.gradient_steps // self.train_freq
        return made % max(1, interval) == 0 or made == self.pretrain_updates

    # -- state ------------------------------------------------------------------------------------
    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        if not isinstance(state.get("memory"), Mapping):
            self.stored += self.demonstrated  # They are there since the build.
