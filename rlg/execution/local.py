"""The replay loop in one process: sample, remember, update, in a fixed ratio."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from rlg.envs import VectorEnv
from rlg.execution.worker import SamplingWorker


class ReplayLearner(Protocol):
    """What the replay loop needs of an agent."""

    timesteps: int
    updates: int
    # Environment steps between updates, and updates each time.
    train_freq: int
    gradient_steps: int

    @property
    def is_ready(self) -> bool:
        """Whether there is enough experience to learn from."""

    def get_actions(self, states: Any, explore: bool = True) -> Any: ...
    def observe(
        self,
        states: Any,
        actions: Any,
        rewards: Any,
        terminals: Any,
        next_states: Any,
        *,
        truncations: Any = None,
    ) -> None: ...
    def update(self) -> dict[str, Any]: ...
    def get_state(self) -> dict[str, Any]: ...
    def set_state(self, state: Mapping[str, Any]) -> None: ...


@dataclass(slots=True)
class Iteration:
    """What one round of sampling and learning brought."""

    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    train: dict[str, float] = field(default_factory=dict)


class ReplayLoop:
    """Collects `train_freq` environment steps, then makes `gradient_steps` updates."""

    def __init__(self, learner: ReplayLearner, env: VectorEnv) -> None:
        self.learner = learner
        steps = max(1, learner.train_freq // env.num_envs)
        # Agents that remember are told where episodes end.
        forget = learner.forget if getattr(learner, "is_recurrent", False) else None  # type: ignore[attr-defined]
        self.worker = SamplingWorker(env, learner.get_actions, steps, forget)
        self.steps_per_iteration = steps * env.num_envs

    def start(self) -> None:
        """Begins a new run."""
        self.worker.start()

    def iterate(self) -> Iteration:
        """One round."""
        learner = self.learner
        records, returns, lengths = self.worker.collect()
        learner.observe(**records)
        iteration = Iteration(returns, lengths)
        if learner.is_ready:
            notes = [learner.update() for _ in range(learner.gradient_steps)]
            iteration.train = {
                f"train/{name}": float(np.mean(np.abs([note[name] for note in notes])))
                for name in notes[0]
            }
        return iteration

    def get_state(self) -> dict[str, Any]:
        """Everything that the loop goes on from."""
        return {**self.learner.get_state(), "environments": self.worker.snapshot()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes on from there, exactly."""
        self.learner.set_state(state)
        self.worker.restore(state["environments"])
