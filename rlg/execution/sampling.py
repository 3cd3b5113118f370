"""Samplers: they step environments with an actor and turn the steps into records.

Cost per vector step: one act, one environment step, one row written per column. Nothing is done
per environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.envs import VectorEnv
from rlg.execution.adders import Adder
from rlg.execution.recurrent_state import RecurrentState
from rlg.execution.roles import Actor
from rlg.execution.types import Batch, Clock, Segment, Weights
from rlg.graph.spaces import Space, flatten, map_leaves


class SteppingSampler:
    """Steps a vector environment with one batched act call per step; `steps` steps per task."""

    def __init__(self, env: VectorEnv, actor: Actor, adder: Adder, steps: int) -> None:
        self.env = env
        self.actor = actor
        self.adder = adder
        self.steps = steps
        self.version = 0
        self._recurrent = None if actor.state_space is None else RecurrentState(actor.state_space)
        self._observations: Any = None

    def start(self) -> None:
        """Begins the first episodes."""
        self._observations = self.env.reset()

    def sample(self, clock: Clock) -> tuple[Segment, Sequence[Batch]]:
        """The next steps of all environments, and the records to learn from that they complete."""
        segment = self.collect(clock)
        return segment, list(self.adder.add(segment))

    def collect(self, clock: Clock) -> Segment:
        """The next steps alone."""
        env, actor, recurrent = self.env, self.actor, self._recurrent
        shape = (self.steps, env.num_envs)
        states = _column(env.observation_space, *shape)
        columns = {name: _column(space, *shape) for name, space in actor.columns.items()}
        rewards = np.empty(shape, np.float32)
        terminals, truncations, resets = (np.empty(shape, np.bool_) for _ in range(3))
        returns: list[float] = []
        lengths: list[int] = []
        ends: list[tuple[int, NDArray[np.int64], Any]] = []
        observations, hidden, begins = self._observations, None, None
        first_hidden = None if recurrent is None else recurrent.before_step(env.num_envs)[0]
        for row in range(self.steps):
            if recurrent is not None:
                hidden, begins = recurrent.before_step(env.num_envs)
                resets[row] = begins
            action = actor.act(observations, hidden, begins, clock)
            step = env.step(action.env)
            _write(states, row, observations)
            for name, values in action.columns.items():
                _write(columns[name], row, values)
            rewards[row] = step.rewards
            # Only a terminal ends the value of what follows; a truncated episode bootstraps.
            terminals[row] = step.terminals
            truncations[row] = step.truncations
            observations = step.observations
            if recurrent is not None:
                recurrent.after_step(action.state)
            ended = step.terminals | step.truncations
            if ended.any():
                rows = np.flatnonzero(ended)
                ends.append(
                    (row, rows, map_leaves(lambda x, at=rows: x[at], step.final_observations))
                )
                if recurrent is not None:
                    recurrent.reset(ended)
            if len(step.ended):
                returns.extend(float(value) for value in step.episode_returns)
                lengths.extend(int(value) for value in step.episode_lengths)
        self._observations = observations
        at, final = _joined(ends, env.observation_space)
        return Segment(
            states,
            columns,
            rewards,
            terminals,
            truncations,
            observations,
            at,
            final,
            returns,
            lengths,
            first_hidden,
            None if recurrent is None else resets,
            self.version,
        )

    def set_weights(self, weights: Weights) -> None:
        """Acts by these from the next task on."""
        self.actor.load_weights(weights)
        self.version = weights.version

    def get_state(self) -> dict[str, Any]:
        """Environments, what waits for later steps, and the actor's random streams."""
        pending = {**self.adder.get_state(), "streams": self.actor.get_streams()}
        if self._recurrent is not None:
            pending["hidden"] = self._recurrent.get_state()
        return {"environments": self.env.snapshot(), "pending": pending}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continues exactly from there."""
        self._observations = self.env.restore(state["environments"])
        pending = state["pending"]
        self.adder.set_state(pending)
        self.actor.set_streams(pending["streams"])
        if self._recurrent is not None and "hidden" in pending:
            self._recurrent.set_state(pending["hidden"])

    def close(self) -> None:
        """Frees the environments."""
        self.env.close()


def _joined(
    ends: list[tuple[int, NDArray[np.int64], Any]], space: Space
) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], Any]:
    """Steps and environments of all ends, and their observations one after the other."""
    if not ends:
        nothing = np.empty(0, np.int64)
        return (nothing, nothing), map_leaves(lambda x: x[:0], space.zeros(1))
    times = np.concatenate([np.full(len(rows), row) for row, rows, _ in ends])
    places = np.concatenate([rows for _, rows, _ in ends])
    final = map_leaves(lambda *parts: np.concatenate(parts), *(found for *_, found in ends))
    return (times, places), final


def _column(space: Space, steps: int, num_envs: int) -> Any:
    def make(zeros: NDArray[Any]) -> NDArray[Any]:
        return np.empty((steps, num_envs, *zeros.shape[1:]), zeros.dtype)

    return map_leaves(make, space.zeros(1))


def _write(column: Any, row: int, values: Any) -> None:
    if isinstance(column, np.ndarray):
        column[row] = values
        return
    flat = flatten(values)
    for path, leaf in flatten(column).items():
        leaf[row] = flat[path]
