"""What agents share that learn from whole segments, once, by the policy that sampled them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np

from rlg.api.agents.agent import Agent
from rlg.errors import ExecutionError
from rlg.execution.adders import Segments
from rlg.execution.cadence import Cadence
from rlg.execution.recurrent_state import RecurrentState
from rlg.execution.types import Action, Clock, Segment, joined
from rlg.graph.spaces import Box, Space, flatten, map_leaves, unflatten


class OnPolicyAgent(Agent):
    """Runs on the loop `batches`: `n_steps` steps of each environment, then one update from them.

    A subclass says what acting adds to a segment (`columns`, by name and space) and what its root
    learns from (`learn`). The root's API method `act` takes states and `explore` (and, recurrent,
    hidden and resets in between) and returns actions and then the other columns (and the state).
    """

    loops: ClassVar[tuple[str, ...]] = ("batches",)
    parts: ClassVar[tuple[str, ...]] = ("network", "optimizer")
    apis: ClassVar[Mapping[str, tuple[str, ...]]] = {"actor": ("act",), "learner": ("update",)}

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        total_timesteps: int = 50_000,
        n_steps: int = 128,
    ) -> None:
        super().__init__(observation_space, action_space, total_timesteps)
        self.n_steps = n_steps
        # Actions of unbounded distributions are learnt from as they are, and clipped for the
        # environment only.
        self._has_bounds = any(map(_is_bounded, action_space.flatten().values()))
        self._observed: list[Segment] = []  # of the paper's API
        self._latest: Action | None = None
        self._before: tuple[Any, Any] = (None, None)  # recurrent state and resets before it

    # -- what loops ask ---------------------------------------------------------------------------
    def make_adder(self) -> Segments:
        return Segments()

    @property
    def cadence(self) -> Cadence:
        return Cadence(0, 1, 1)  # One update per segment, however long it is.

    def task_steps(self, num_envs: int) -> int:
        return self.n_steps

    def act(
        self, observations: Any, state: Any, resets: Any, clock: Clock, *, explore: bool = True
    ) -> Action:
        inputs = (observations,) if state is None else (observations, state, resets)
        found = self.executor.execute("act", *inputs, explore)
        # A lone output may be a tuple itself: the actions of a Tuple space.
        outputs = (found,) if state is None and len(self.columns) == 1 else found
        columns = dict(zip(self.columns, outputs, strict=False))
        actions = columns["actions"]
        env = self._clipped(actions) if self._has_bounds else actions
        return Action(env, columns, None if state is None else outputs[-1])

    def _clipped(self, actions: Any) -> Any:
        flat = flatten(actions)
        for path, box in self.action_space.flatten().items():
            if _is_bounded(box):
                flat[path] = np.clip(flat[path], box.low, box.high)
        return unflatten(flat)

    # -- the paper's API --------------------------------------------------------------------------
    def _act(self, states: Any, explore: bool) -> Action:
        if explore and self.state_space is not None:
            num_envs = len(next(iter(flatten(states).values())))
            recurrent = self._recurrent.setdefault(True, RecurrentState(self.state_space))
            self._before = recurrent.before_step(num_envs)
        action = super()._act(states, explore)
        self._latest = action if explore else self._latest
        return action

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
        """Keeps a step of B environments, whose actions `get_actions` returned last."""
        if self._latest is None:
            raise ExecutionError(
                f"{type(self).__name__}: observe() without get_actions() before it, which knows "
                "the log-probabilities and values that are learnt from."
            )
        action, self._latest = self._latest, None
        if True in self._recurrent:
            state = self._recurrent[True].reward(np.atleast_1d(rewards))
            action = action._replace(state=state)
        states, _ = self._batched(states)
        next_states, _ = self._batched(next_states)
        ends = (
            np.atleast_1d(terminals),
            np.atleast_1d(False if truncations is None else truncations),
        )
        rows = np.flatnonzero(ends[0] | ends[1])
        hidden, resets = self._before
        pick = partial(map_leaves, lambda x: np.asarray(x)[rows])
        segment = Segment(
            states=map_leaves(lambda x: np.asarray(x)[None], states),
            columns=map_leaves(lambda x: np.asarray(x)[None], dict(action.columns)),
            rewards=np.atleast_2d(np.asarray(rewards, np.float32)),
            terminals=np.broadcast_to(ends[0], (1, *ends[0].shape)),
            truncations=np.broadcast_to(ends[1], (1, *ends[0].shape)),
            last_states=next_states,
            ends=(np.zeros(len(rows), np.int64), rows),
            final_states=pick(next_states),
            first_hidden=hidden,
            final_hidden=None if action.state is None else pick(action.state),
            last_hidden=action.state,
            resets=None if resets is None else resets[None],
        )
        self._observed.append(segment)
        self.clock = self.clock.after(steps=segment.steps)

    def update(self, batch: Any = None, sequence_indices: Any = None) -> dict[str, Any]:
        """Learns from a segment: a given one, or what was observed since the last update."""
        if batch is None:
            if not self._observed:
                raise ExecutionError(f"{type(self).__name__}: nothing was observed to learn from.")
            batch, self._observed = joined(self._observed), []
        return super().update({"segment": batch})


def _is_bounded(box: Box) -> bool:
    return box.kind == "float" and (box.low is not None or box.high is not None)
