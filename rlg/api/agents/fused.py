"""An agent's part in engines whose rollouts stay inside of the graph: actor and learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rlg.api.agents.actor_critic import ActorCriticAgent
from rlg.api.agents.agent import BuildOptions
from rlg.backends.executor import GraphExecutor
from rlg.envs import VectorEnv
from rlg.execution.roles import Role
from rlg.execution.types import Clock, LearnResult
from rlg.graph.core.build.builder import BuildStatistics
from rlg.graph.spaces import Dict, IntBox, Space

# API methods of the fused root, by role.
FUSED = {
    "fused_actor": ("rollout", "published"),
    "fused_learner": ("learn", "publish", "waiting", "close", "act"),
}


class FusedRollouts(ActorCriticAgent):
    """Rolls out and learns by a root that has environments and queue inside: see FusedRoot."""

    is_fused = False
    batch_rollouts: int
    queue: int
    num_envs: int

    def build(
        self,
        options: BuildOptions | None = None,
        roles: Sequence[Role] = (),
        executor: GraphExecutor | None = None,
    ) -> BuildStatistics:
        self.is_fused = any(role in FUSED for role in roles)
        return super().build(options, roles, executor)

    def fused_settings(self) -> dict[str, Any]:
        """What the root takes beside its own."""
        seen: dict[str, Space] = {"states": self._states}
        if self._masks is not None:
            seen["masks"] = self._masks
        sizes = {"n_steps": self.n_steps, "num_envs": self.num_envs, "queue": self.queue}
        return {"seen": Dict(seen), **sizes}

    def fused_spaces(self) -> dict[str, Any]:
        """The spaces of what its API methods take."""
        return {
            "carry": self._fused.carry_space,
            "actors": IntBox(),
            "number": IntBox(ranks=""),
            "learn.count": self.batch_rollouts,
        }

    @property
    def _fused(self) -> Any:
        return self._root

    # -- actor ------------------------------------------------------------------------------------
    def published(self) -> int:
        return int(self.executor.execute("published"))

    def begin(self, env: VectorEnv) -> None:
        stepper = self._fused.stepper
        stepper.attach(env, self._seen)
        self._carry = {"seen": stepper.start()}
        if self.state_space is not None:
            begins = np.ones(env.num_envs, np.bool_)
            self._carry |= {"hidden": self.state_space.zeros(env.num_envs), "resets": begins}

    def rollout(self) -> None:
        number = np.array([self.place[0]])
        self._carry = self.executor.execute("rollout", self._carry, number)

    def _seen(self, observations: Any) -> dict[str, Any]:
        states, masks = self._split(observations)
        return {"states": states} if masks is None else {"states": states, "masks": masks}

    # -- learner ----------------------------------------------------------------------------------
    def publish(self, version: int) -> None:
        self.executor.execute("publish", np.int64(version))

    def waiting(self) -> int:
        return int(self.executor.execute("waiting"))

    def learn_waiting(self, clock: Clock) -> tuple[LearnResult, Mapping[str, Any], int]:
        settings = self.schedules(clock)
        numbers = [np.float32(value) for value in settings.values()]
        metrics, notes, waiting = self.executor.execute("learn", self.batch_rollouts, *numbers)
        return LearnResult({**metrics, **settings}), notes, int(waiting)

    def close_queue(self) -> None:
        self.executor.execute("close")
