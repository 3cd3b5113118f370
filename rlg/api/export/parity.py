"""Whether an exported policy acts as the run does, on observations of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.api.agents.agent import Agent
from rlg.api.export.formats import Loaded
from rlg.api.export.greedy import (
    ACTIONS,
    NEXT_STATE,
    OBSERVATIONS,
    RESETS,
    STATE,
    GreedyPolicy,
    named,
)
from rlg.envs import make_env
from rlg.execution.recurrent_state import RecurrentState
from rlg.execution.types import Action, Clock

NUM_ENVS = 8
# Of floats, relative above 1: sums of float32 in another order differ by less than a tenth of it.
TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Parity:
    """How many observations led to equal outputs (floats: within the tolerance)."""

    observations: int
    equal_actions: int
    equal_states: int  # what a recurrent policy remembers; all, if it does not
    largest_difference: float

    @property
    def agrees(self) -> bool:
        return self.equal_actions == self.equal_states == self.observations

    @property
    def line(self) -> str:
        states = (
            f", {self.equal_states:,} states equal" if self.equal_states < self.observations else ""
        )
        return (
            f"{self.equal_actions:,} of {self.observations:,} actions equal{states}, largest "
            f"difference {self.largest_difference:.3g}"
        )


class _Count:
    """Compares batches of outputs, row by row."""

    def __init__(self) -> None:
        self.rows = 0
        self.equal = {ACTIONS: 0, STATE: 0}
        self.largest = 0.0

    def add(self, expected: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        size = len(next(iter(expected.values())))
        same = {part: np.ones(size, np.bool_) for part in self.equal}
        for name, value in expected.items():
            part = ACTIONS if name.partition("_")[0] == ACTIONS else STATE
            same[part] &= self._equal(np.asarray(value), np.asarray(found[name]))
        self.rows += size
        for part, rows in same.items():
            self.equal[part] += int(rows.sum())

    def _equal(self, expected: NDArray[Any], found: NDArray[Any]) -> NDArray[np.bool_]:
        if expected.shape != found.shape or expected.dtype != found.dtype:
            self.largest = np.inf
            return np.zeros(len(expected), np.bool_)
        wide = expected.astype(np.float64)
        apart = np.abs(wide - found.astype(np.float64)).reshape(len(expected), -1)
        apart = np.where(np.isnan(apart), np.inf, apart)
        self.largest = max(self.largest, float(apart.max(initial=0.0)))
        is_float = expected.dtype.kind == "f"
        scale = np.maximum(np.abs(wide).reshape(apart.shape), 1.0)
        allowed = TOLERANCE * scale if is_float else np.zeros_like(scale)
        return np.asarray((apart <= allowed).all(axis=1))


def check_parity(
    agent: Agent,
    policy: GreedyPolicy,
    loaded: Loaded,
    env: Mapping[str, Any],
    count: int,
    seed: int,
) -> Parity:
    """Plays episodes by the run's policy; the file sees the same inputs, and is compared.

    The first observations go in one by one, too: any size of batch must do.
    """
    recurrent = None if agent.state_space is None else RecurrentState(agent.state_space)
    hidden = resets = None
    compared, num_envs = _Count(), min(NUM_ENVS, count)
    with make_env(**{**env, "num_envs": num_envs}, seed=seed) as environments:
        observations = environments.reset()
        while compared.rows < count:
            if recurrent is not None:
                hidden, resets = recurrent.before_step(num_envs)
            action = agent.act(observations, hidden, resets, Clock(), explore=False)
            inputs = _inputs(policy, observations, hidden, resets)
            expected = _outputs(policy, action)
            if not compared.rows:
                one = {name: array[:1] for name, array in inputs.items()}
                compared.add({n: x[:1] for n, x in expected.items()}, loaded(**one))
            compared.add(expected, loaded(**inputs))
            step = environments.step(action.env)
            observations = step.observations
            if recurrent is not None:
                recurrent.after_step(action.state, step.rewards)
                recurrent.reset(step.terminals | step.truncations)
    return Parity(
        compared.rows, compared.equal[ACTIONS], compared.equal[STATE], float(compared.largest)
    )


def _inputs(
    policy: GreedyPolicy, observations: Any, hidden: Any, resets: Any
) -> dict[str, NDArray[Any]]:
    found = named(OBSERVATIONS, policy.inputs, observations)
    if hidden is not None:
        found |= {**named(STATE, policy.inputs, hidden), RESETS: resets}
    return {name: np.asarray(found[name], box.dtype) for name, box in policy.inputs.items()}


def _outputs(policy: GreedyPolicy, action: Action) -> dict[str, Any]:
    found = named(ACTIONS, policy.outputs, action.env)
    if action.state is not None:
        found |= named(NEXT_STATE, policy.outputs, action.state)
    return {name: np.asarray(value) for name, value in found.items()}
