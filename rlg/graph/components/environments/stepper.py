"""Steps of an environment inside of a graph, so that a whole rollout is one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.errors import ExecutionError
from rlg.graph import Component, Tensor, api, host_fn
from rlg.graph.spaces import BoolBox, Dict, FloatBox, IntBox, Space, map_leaves, space_from_spec

# Where a recurrent state has an entry of this name, it is the reward of the step before.
REWARDS = "rewards"


class Stepper(Component):
    """Steps N environments; they are attached in the process that rolls out, and only there.

    `seen` is the space of what a policy sees, a Dict with the key `states`; `hidden` that of what
    a recurrent policy remembers. `step` takes the environments' actions [N] (and the state after
    acting) and returns what is seen next, rewards, terminals and truncations [N]. `report` takes
    the truncations [T, N] of a rollout's steps, and returns what they do not show, a Dict: true
    last states of its E truncated episodes, ordered by environment and then by time (final_states
    [E]; final_hidden [E], with the reward of the last step), and returns and lengths of the
    episodes that ended, in the order of their ends.
    """

    def __init__(self, seen: Any, hidden: Any = None) -> None:
        self.seen = space_from_spec(seen)
        self.hidden = None if hidden is None else space_from_spec(hidden)
        self._env: Any = None
        self._look: Callable[[Any], Any] = lambda observations: {"states": observations}
        self._forget()

    # -- the environments, from outside -----------------------------------------------------------
    def attach(self, env: Any, look: Callable[[Any], Any] | None = None) -> None:
        """`env` is a vector environment; `look` makes `seen` of its observations."""
        self._env = env
        self._look = look or self._look

    def start(self) -> Any:
        """Begins new episodes everywhere; returns what is seen first."""
        self._forget()
        return self._look(self._env.reset())

    def _forget(self) -> None:
        # Of truncated episodes, one entry per step: environments, last states, recurrent states.
        self._cut: list[tuple[NDArray[Any], Any, Any]] = []
        self._returns: list[float] = []
        self._lengths: list[int] = []

    # -- inside of the graph ----------------------------------------------------------------------
    def _stepped(self, **_: Any) -> tuple[Space, ...]:
        return self.seen, FloatBox(), BoolBox(), BoolBox()

    def _reported(self, **_: Any) -> Space:
        return self.report_space

    @property
    def report_space(self) -> Dict:
        """Of what `report` returns; the ranks of its leaves are numbers of episodes."""
        final = {"final_states": self.seen["states"]}  # type: ignore[index]
        if self.hidden is not None:
            final["final_hidden"] = self.hidden
        return Dict(final, returns=FloatBox(), lengths=IntBox())

    @api
    @host_fn(spaces=_stepped, outputs=4)
    def step(self, actions: Tensor, hidden: Tensor = None) -> Any:
        """One step of all environments."""
        if self._env is None:
            raise ExecutionError(
                f"{self.path}: no environments are attached. Call attach(env) and start() first."
            )
        step = self._env.step(actions)
        if step.truncations.any():
            rows = np.flatnonzero(step.truncations)
            final = map_leaves(lambda x: x[rows], self._look(step.final_observations)["states"])
            if isinstance(hidden, dict) and REWARDS in hidden:
                hidden = {**hidden, REWARDS: step.rewards}
            state = None if hidden is None else map_leaves(lambda x: np.array(x)[rows], hidden)
            self._cut.append((rows, final, state))
        self._returns += [float(value) for value in step.episode_returns]
        self._lengths += [int(value) for value in step.episode_lengths]
        return self._look(step.observations), step.rewards, step.terminals, step.truncations

    @api
    @host_fn(spaces=_reported)
    def report(self, truncations: Tensor) -> Tensor:
        """What the steps since the last report left behind; the argument makes it wait for them."""
        cut = self._cut
        rows = np.concatenate([rows for rows, _, _ in cut]) if cut else np.empty(0, np.int64)
        if len(rows) != int(np.sum(truncations)):
            raise ExecutionError(f"{self.path}: {len(rows)} truncated steps are not those given.")
        order = np.argsort(rows, kind="stable")  # by environment; in each by time, as noted

        def gathered(space: Space, parts: list[Any]) -> Any:
            if not parts:
                return map_leaves(lambda x: x[:0], space.zeros(1))
            return map_leaves(lambda *leaves: np.concatenate(leaves)[order], *parts)

        found: dict[str, Any] = {
            "final_states": gathered(
                self.seen["states"],  # type: ignore[index]
                [final for _, final, _ in cut],
            ),
            "returns": np.array(self._returns, np.float32),
            "lengths": np.array(self._lengths, np.int64),
        }
        if self.hidden is not None:
            found["final_hidden"] = gathered(self.hidden, [state for _, _, state in cut])
        self._forget()
        return found
