"""What agents with a memory share: what goes into it and out of it, and the paper's `observe`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rlg.api.agents.agent import Agent
from rlg.errors import ExecutionError
from rlg.execution.adders import Frames, Steps, as_steps
from rlg.execution.types import Batch, Clock, Sample
from rlg.graph.components.memories.prioritized import has_priorities
from rlg.graph.components.schedules.schedule import Schedule
from rlg.graph.spaces import BoolBox, FloatBox, Space

# Updates in one call at most: stop requests are looked at between calls.
MOST_AT_ONCE = 32
# Environments named by `observe(env_id=...)` whose unfinished windows are kept, the latest ones.
MOST_NAMED_ENVS = 1024


class Observing(Agent):
    """An agent that learns from a memory of what it is told."""

    learning_starts: int
    gradient_steps: int
    num_envs: int
    final_beta: float
    _memory: Any
    _learning_rates: Schedule | None

    def restart_adders(self) -> None:
        """By `env_id`: windows never run on into other environments."""
        self._adder: Steps = self.make_adder()
        self._named: OrderedDict[str, Steps] = OrderedDict()

    @property
    def is_ready(self) -> bool:
        """Whether there is enough replay data to learn from."""
        return self.stored >= self.learning_starts

    @property
    def burst(self) -> int:
        """Updates in one call: those of one round, or less."""
        rounds = self.task_steps(self.num_envs) * self.num_envs // self.cadence.train_freq
        return min(MOST_AT_ONCE, max(1, rounds) * self.gradient_steps)

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
        for batch in self._adder_of(env_id).batches(as_steps(records)):
            self.insert(batch)
        self.clock = self.clock.after(steps=np.size(rewards))

    def _adder_of(self, env_id: str | None) -> Steps:
        if env_id is None:
            return self._adder
        if isinstance(self._adder, Frames):
            raise ExecutionError(
                f"agent {self.name}: observe(env_id={env_id!r}), but frame_replay keeps the frames "
                "of all environments in one order. Hand in steps of all of them, [B, ...], "
                "without env_id, or use another memory."
            )
        if env_id not in self._named:
            self._named[env_id] = self.make_adder()
            if len(self._named) > MOST_NAMED_ENVS:
                self._named.popitem(last=False)
        self._named.move_to_end(env_id)
        return self._named[env_id]

    # -- records ----------------------------------------------------------------------------------
    def record_space(self) -> Space:
        return self._adder.stored(self._step_spaces())

    def _step_spaces(self) -> dict[str, Space]:
        return {
            "states": self.observation_space,
            "actions": self.columns["actions"],
            "rewards": FloatBox(),
            "terminals": BoolBox(),
            "next_states": self.observation_space,
            "truncations": BoolBox(),
        }

    @property
    def _steps_per_record(self) -> int:
        return 1

    # -- schedules: functions of the clock --------------------------------------------------------
    @property
    def _is_prioritized(self) -> bool:
        return has_priorities(self._memory)

    def beta_at(self, clock: Clock) -> float:
        """The exponent of importance weights; 0, which makes all of them 1, without priorities."""
        if not self._is_prioritized:
            return 0.0
        start: float = self._memory.beta
        return start + clock.progress * (self.final_beta - start)

    def _scheduled(self, clock: Clock, *, samples: bool) -> dict[str, float]:
        """The settings of an update by name; samples: its records come from the memory."""
        settings: dict[str, float] = {}
        if self._learning_rates is not None:
            settings["learning_rate"] = self._learning_rates.at(clock.progress)
        if samples and self._is_prioritized:
            settings["beta"] = self.beta_at(clock)
        return settings

    # -- memory -----------------------------------------------------------------------------------
    def insert(self, batch: Batch, first_env: int = 0) -> None:
        """Steps as they were sampled, or records of another memory, whose environments are
        numbered from `first_env` in this one.
        """
        if batch.priorities is None:
            self.executor.execute("observe", batch.records)
        else:
            self.executor.execute("insert", *self._insertable(batch, first_env))
        self.stored += batch.size

    def _insertable(self, batch: Batch, first_env: int) -> tuple[Any, ...]:
        """The arguments of the root's `insert`."""
        return batch.records, batch.priorities

    def export(self) -> Iterator[Batch]:
        """All replay data, as batches that fit any other memory."""
        root: Any = self._root
        for records, priorities in root.memory.export():
            yield Batch(records, self._steps_per_record * len(priorities), priorities)

    def sample(self, n: int, clock: Clock) -> Sample:
        """Records for the learner, in another process."""
        if self._is_prioritized:
            beta = np.float32(self.beta_at(clock))
            records, keys, weights, total, least = self.executor.execute("sample", n, beta)
            return Sample(records, keys, weights, float(total), float(least))
        records, rows, size = self.executor.execute("sample", n)
        return Sample(records, rows, np.ones(n, np.float32), float(size), 1.0)

    def update_priorities(self, keys: Any, priorities: Any) -> int:
        """Returns how many keys were stale, of records that are gone."""
        return int(self.executor.execute("update_priorities", keys, priorities))

    # -- state ------------------------------------------------------------------------------------
    def get_state(self, *, memory: bool = True) -> dict[str, Any]:
        state = super().get_state(memory=memory)
        # Of the paper's API; in a run `pending` is the sampler's.
        waiting = self._adder.get_state()
        if self._named:
            waiting["named"] = {k: adder.get_state() for k, adder in self._named.items()}
        state["learner"]["observed"] = waiting
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        observed = state["learner"].get("observed", {})
        self.restart_adders()
        self._adder.set_state(observed)
        for name, waiting in observed.get("named", {}).items():
            self._adder_of(name).set_state(waiting)
