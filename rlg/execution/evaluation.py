"""Evaluation: whole episodes without exploration, on environments of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.envs import Step, VectorEnv, make_env
from rlg.execution.recurrent_state import RecurrentState
from rlg.execution.roles import Actor
from rlg.execution.types import Clock

# At most this many environments at once; each plays an equal share of the episodes, so that short
# episodes are not preferred.
MOST_ENVS = 20


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Returns and lengths of the episodes, in the order of environments."""

    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    cut: int = 0  # of them: cut off after the most steps, with their rewards so far

    @property
    def cut_note(self) -> str:
        """What to say of episodes that were cut, and what to do."""
        return (
            f"{self.cut} of {len(self.returns)} episodes were cut off after "
            f"{max(self.lengths):,} steps (evaluation.max_steps), with their rewards so far; "
            "env.max_episode_steps=... gives the environment a time limit"
        )

    @property
    def mean_reward(self) -> float:
        return float(np.mean(self.returns))

    @property
    def std_reward(self) -> float:
        with np.errstate(invalid="ignore"):  # returns may be infinite
            return float(np.std(self.returns))

    @property
    def mean_length(self) -> float:
        return float(np.mean(self.lengths))


def evaluate(
    actor: Actor,
    env: Mapping[str, Any],
    episodes: int,
    seed: int,
    after_step: Callable[[], None] | None = None,
    watch: Callable[[VectorEnv, Any], None] | None = None,
    max_steps: int | None = None,
    record: Callable[[Any, Any, Step], None] | None = None,
) -> Evaluation:
    """Plays whole episodes without exploration: nothing of the actor changes by it.

    `watch` sees the environment and its observations before each step, one episode after the other;
    `record` observations, actions and what came of them, also one after the other.
    An episode that has not ended after `max_steps` steps counts with what it returned so far.
    """
    most = MOST_ENVS if watch is None and record is None else 1
    num_envs = next(n for n in range(min(episodes, most), 0, -1) if episodes % n == 0)
    score = _Score(num_envs, episodes // num_envs, max_steps)
    recurrent = None if actor.state_space is None else RecurrentState(actor.state_space)
    hidden = resets = None
    clock = Clock()
    with make_env(**{**env, "num_envs": num_envs}, seed=seed) as environments:
        observations = environments.reset()
        while not score.is_complete:
            if score.needs_reset:
                observations = environments.reset()
                score.reset()
                if recurrent is not None:
                    recurrent.reset()
            if watch is not None:
                watch(environments, observations)
            if recurrent is not None:
                hidden, resets = recurrent.before_step(num_envs)
            action = actor.act(observations, hidden, resets, clock, explore=False)
            step = environments.step(action.env)
            if record is not None:
                record(observations, action.env, step)
            observations = step.observations
            if recurrent is not None:
                recurrent.after_step(action.state, step.rewards)
                recurrent.reset(step.terminals | step.truncations)
            if after_step is not None:
                after_step()
            score.count(step, *environments.running)
    return score.result()


class _Score:
    """Counts the same number of episodes for each environment."""

    def __init__(self, num_envs: int, share: int, max_steps: int | None) -> None:
        self._share = share
        self._max_steps = math.inf if max_steps is None else max_steps
        self._returns: list[list[float]] = [[] for _ in range(num_envs)]
        self._lengths: list[list[int]] = [[] for _ in range(num_envs)]
        # Where the episode under way was cut: nothing more of it counts.
        self._is_over = np.zeros(num_envs, np.bool_)
        self._cut = 0

    @property
    def is_complete(self) -> bool:
        return all(len(played) == self._share for played in self._returns)

    @property
    def needs_reset(self) -> bool:
        """Whether all that is left to play waits for episodes that were cut."""
        missing = [len(played) < self._share for played in self._returns]
        return bool(np.all(self._is_over[missing]))

    def reset(self) -> None:
        """New episodes began everywhere."""
        self._is_over[:] = False

    def count(self, step: Step, returns: NDArray[np.float64], lengths: NDArray[np.int64]) -> None:
        """Notes what ended with a step, and what is cut after it: returns and lengths so far."""
        for index, value, length in zip(
            step.ended, step.episode_returns, step.episode_lengths, strict=True
        ):
            self._note(index, value, length)
            self._is_over[index] = False
        for index in np.flatnonzero(lengths >= self._max_steps).tolist():
            self._cut += self._note(index, returns[index], lengths[index])
            self._is_over[index] = True

    def _note(self, index: int, value: float, length: int) -> bool:
        # Extra episodes of fast environments would favour short ones.
        counts = not self._is_over[index] and len(self._returns[index]) < self._share
        if counts:
            self._returns[index].append(float(value))
            self._lengths[index].append(int(length))
        return counts

    def result(self) -> Evaluation:
        returns = tuple(value for played in self._returns for value in played)
        lengths = tuple(length for played in self._lengths for length in played)
        return Evaluation(returns, lengths, self._cut)
