"""Samplers: they step environments with an actor and turn the steps into records.

Cost per vector step: one act, one environment step, one row written per column. Nothing is done
per environment.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.envs import VectorEnv
from rlg.envs.vector import Step
from rlg.execution.adders import Adder
from rlg.execution.finite import check_segment
from rlg.execution.recurrent_state import RecurrentState
from rlg.execution.roles import Actor, GradientWorker, Stop, never
from rlg.execution.types import (
    Action,
    Batch,
    Clock,
    Segment,
    Weights,
    joined,
    segment_from_tree,
    segment_to_tree,
)
from rlg.graph.spaces import flatten, map_leaves

# The steps, or environments, of the ends of episodes where there are none.
NOWHERE = np.empty(0, np.int64)


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
        # Sampled already: by an engine that samples ahead, or half a task that was stopped.
        self._ahead: Segment | None = None
        self._sampled: deque[Segment] = deque()  # whole tasks of a thread, before a resume
        # The layout of columns, asked for once: tasks may be as short as one step.
        self._state = self._kept(env.observation_space.zeros(1))
        self._columns = {name: space.zeros(1) for name, space in actor.columns.items()}

    def _kept(self, observations: Any) -> Any:
        """What a segment has of observations: of stacks of frames the newest one alone."""
        return observations[..., -1:] if self.adder.takes_frames else observations

    def start(self) -> None:
        """Begins the first episodes."""
        self._observations = self.env.reset()

    def sample(self, clock: Clock, stop: Stop = never) -> tuple[Segment, Sequence[Batch]] | None:
        """The next steps of all environments, and the records to learn from that they complete.

        None if stopped on the way: what was sampled is kept, and the rest comes with the next call.
        """
        segment = self.collect(clock, stop)
        return None if segment is None else (segment, list(self.adder.add(segment)))

    def collect(self, clock: Clock, stop: Stop = never) -> Segment | None:
        """The next steps alone."""
        if self._sampled:
            return self._sampled.popleft()
        segment, self._ahead = self._ahead, None
        left = self.steps - (0 if segment is None else len(segment.rewards))
        if left > 0:
            rest = self._collect(left, clock, stop, self.steps - left)
            segment = rest if segment is None else joined([segment, rest])
            if len(rest.rewards) < left:
                self._ahead = segment
                return None
        return segment

    def _collect(self, steps: int, clock: Clock, stop: Stop, ahead: int) -> Segment:
        """So many steps, or fewer if stopped, but one at least; `ahead` are sampled already."""
        env, actor, recurrent = self.env, self.actor, self._recurrent
        observations, hidden, begins = self._observations, None, None
        recording = _Recording((steps, env.num_envs), self._state, self._columns)
        for row in range(steps):
            if recurrent is not None:
                hidden, begins = recurrent.before_step(env.num_envs)
            action = actor.act(observations, hidden, begins, clock)
            step = env.step(action.env)
            ended = step.terminals | step.truncations
            if recurrent is not None:
                recording.write_recurrent(row, hidden, begins)
                after = recurrent.after_step(action.state, step.rewards)
                action = action._replace(state=after)
                recurrent.reset(ended)
            recording.write(row, self._kept(observations), action, step)
            if ended.any():
                recording.note_ends(row, ended, self._kept(step.final_observations), action.state)
            observations = step.observations
            if row + 1 < steps and stop():
                recording.cut(row + 1)
                break
        self._observations = observations
        last_hidden = None if recurrent is None else recurrent.before_step(env.num_envs)[0]
        segment = recording.segment(self._kept(observations), last_hidden, self.version)
        check_segment(segment, env.name, clock.steps + ahead * env.num_envs)
        return segment

    def set_weights(self, weights: Weights) -> None:
        """Acts by these from the next task on."""
        self.actor.load_weights(weights)
        self.version = weights.version

    def get_state(self) -> dict[str, Any]:
        """Environments, what waits for later steps, and the actor's random streams."""
        pending = {**self.adder.get_state(), "streams": self.actor.get_streams()}
        if self._recurrent is not None:
            pending["hidden"] = self._recurrent.get_state()
        ahead = None if self._ahead is None else segment_to_tree(self._ahead)
        state: dict[str, Any] = {
            "environments": self.env.snapshot(),
            "pending": pending,
            "ahead": ahead,
        }
        if self._sampled:
            state["sampled"] = [segment_to_tree(segment) for segment in self._sampled]
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continues exactly from there; with new episodes, where an engine saved none."""
        if "environments" not in state:
            self.start()
            return
        self._observations = self.env.restore(state["environments"])
        pending = state["pending"]
        self.adder.set_state(pending)
        self.actor.set_streams(pending["streams"])
        if self._recurrent is not None and "hidden" in pending:
            self._recurrent.set_state(pending["hidden"])
        ahead = state.get("ahead")
        self._ahead = None if ahead is None else segment_from_tree(ahead).observed(self._kept)
        self._sampled = deque(map(segment_from_tree, state.get("sampled", ())))

    def close(self) -> None:
        """Frees the environments."""
        self.env.close()


class GradientSampler(SteppingSampler):
    """Differentiates the loss on what it sampled: gradients are what it hands over."""

    actor: GradientWorker

    def sample(self, clock: Clock, stop: Stop = never) -> tuple[Segment, Sequence[Any]] | None:
        """The next steps, and gradients on them; None if stopped on the way."""
        segment = self.collect(clock, stop)
        if segment is None:
            return None
        return segment, [self.actor.gradients(batch) for batch in self.adder.add(segment)]


class _Recording:
    """The columns of a segment while it is sampled."""

    def __init__(self, shape: tuple[int, int], state: Any, columns: Mapping[str, Any]) -> None:
        """`shape` is [T, N]; `state` and `columns` are one row each."""
        self._state = state
        self.states = _column(state, shape)
        self.columns = {name: _column(row, shape) for name, row in columns.items()}
        self.rewards = np.empty(shape, np.float32)
        self.terminals, self.truncations = np.empty(shape, np.bool_), np.empty(shape, np.bool_)
        self.returns: list[float] = []
        self.lengths: list[int] = []
        # Of episodes that end: step, environments, true last observations, recurrent states.
        self._ends: list[tuple[int, NDArray[np.int64], Any, Any]] = []
        self._first_hidden: Any = None
        self._resets: NDArray[np.bool_] | None = None

    def write(self, row: int, observations: Any, action: Action, step: Step) -> None:
        """Notes one step of all environments."""
        _write(self.states, row, observations)
        for name, values in action.columns.items():
            _write(self.columns[name], row, values)
        self.rewards[row] = step.rewards
        # Only a terminal ends the value of what follows; a truncated episode bootstraps.
        self.terminals[row] = step.terminals
        self.truncations[row] = step.truncations
        if len(step.ended):
            self.returns.extend(float(value) for value in step.episode_returns)
            self.lengths.extend(int(value) for value in step.episode_lengths)

    def note_ends(self, row: int, ended: NDArray[np.bool_], final: Any, state: Any) -> None:
        """Notes the true last observations, and recurrent states, where episodes end."""
        rows = np.flatnonzero(ended)
        final = map_leaves(lambda x: x[rows], final)
        hidden = None if state is None else map_leaves(lambda x: x[rows], state)
        self._ends.append((row, rows, final, hidden))

    def write_recurrent(self, row: int, hidden: Any, begins: Any) -> None:
        """Notes where episodes begin, and the state before the first step."""
        if self._resets is None:
            self._first_hidden = hidden
            self._resets = np.empty_like(self.terminals)
        self._resets[row] = begins

    def cut(self, rows: int) -> None:
        """Leaves out what was not written."""
        self.states = map_leaves(lambda x: x[:rows], self.states)
        self.columns = map_leaves(lambda x: x[:rows], self.columns)
        self.rewards = self.rewards[:rows]
        self.terminals, self.truncations = self.terminals[:rows], self.truncations[:rows]
        self._resets = None if self._resets is None else self._resets[:rows]

    def segment(self, observations: Any, last_hidden: Any, version: int) -> Segment:
        """All of it, with the observations after the last step."""
        ends, final = (NOWHERE, NOWHERE), map_leaves(lambda x: x[:0], self._state)
        final_hidden = map_leaves(lambda x: x[:0], last_hidden) if last_hidden is not None else None
        if self._ends:
            times, rows, finals, hiddens = zip(*self._ends, strict=True)
            steps = [np.full(len(found), time) for time, found in zip(times, rows, strict=True)]
            ends = np.concatenate(steps), np.concatenate(rows)
            final = _joined(finals)
            final_hidden = None if last_hidden is None else _joined(hiddens)
        return Segment(
            states=self.states,
            columns=self.columns,
            rewards=self.rewards,
            terminals=self.terminals,
            truncations=self.truncations,
            last_states=observations,
            ends=ends,
            final_states=final,
            returns=self.returns,
            lengths=self.lengths,
            first_hidden=self._first_hidden,
            final_hidden=final_hidden,
            last_hidden=last_hidden,
            resets=self._resets,
            version=version,
        )


def _joined(parts: Sequence[Any]) -> Any:
    return map_leaves(lambda *arrays: np.concatenate(arrays), *parts)


def _column(row: Any, shape: tuple[int, int]) -> Any:
    return map_leaves(lambda x: np.empty((*shape, *x.shape[1:]), x.dtype), row)


def _write(column: Any, row: int, values: Any) -> None:
    if isinstance(column, np.ndarray):
        column[row] = values
        return
    flat = flatten(values)
    for path, leaf in flatten(column).items():
        leaf[row] = flat[path]
