"""The paper's `observe` for agents with a memory: steps that are handed in become records."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

from rlg.api.agents.agent import Agent
from rlg.errors import ExecutionError
from rlg.execution.adders import Frames, Steps, as_steps

# Environments named by `observe(env_id=...)` whose unfinished windows are kept, the latest ones.
MOST_NAMED_ENVS = 1024


class Observing(Agent):
    """An agent that learns from a memory of what it is told."""

    learning_starts: int

    def restart_adders(self) -> None:
        """By `env_id`: windows never run on into other environments."""
        self._adder: Steps = self.make_adder()
        self._named: OrderedDict[str, Steps] = OrderedDict()

    @property
    def is_ready(self) -> bool:
        """Whether there is enough replay data to learn from."""
        return self.stored >= self.learning_starts

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
                f"agent dqn: observe(env_id={env_id!r}), but frame_replay keeps the frames of "
                "all environments in one order. Hand in steps of all of them, [B, ...], "
                "without env_id, or use another memory."
            )
        if env_id not in self._named:
            self._named[env_id] = self.make_adder()
            if len(self._named) > MOST_NAMED_ENVS:
                self._named.popitem(last=False)
        self._named.move_to_end(env_id)
        return self._named[env_id]

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
