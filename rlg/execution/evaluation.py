"""Evaluation: whole episodes without exploration, on environments of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlg.envs import VectorEnv, make_env
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
) -> Evaluation:
    """Plays whole episodes without exploration: nothing of the actor changes by it.

    `watch` sees the environment and its observations before each step, one episode after the other.
    """
    most = 1 if watch is not None else MOST_ENVS
    num_envs = next(n for n in range(min(episodes, most), 0, -1) if episodes % n == 0)
    share = episodes // num_envs
    returns: list[list[float]] = [[] for _ in range(num_envs)]
    lengths: list[list[int]] = [[] for _ in range(num_envs)]
    recurrent = None if actor.state_space is None else RecurrentState(actor.state_space)
    hidden = resets = None
    clock = Clock()
    with make_env(**{**env, "num_envs": num_envs}, seed=seed) as environments:
        observations = environments.reset()
        while any(len(played) < share for played in returns):
            if watch is not None:
                watch(environments, observations)
            if recurrent is not None:
                hidden, resets = recurrent.before_step(num_envs)
            action = actor.act(observations, hidden, resets, clock, explore=False)
            step = environments.step(action.env)
            observations = step.observations
            if recurrent is not None:
                recurrent.after_step(action.state)
                recurrent.reset(step.terminals | step.truncations)
            if after_step is not None:
                after_step()
            for index, value, length in zip(
                step.ended, step.episode_returns, step.episode_lengths, strict=True
            ):
                # Extra episodes of fast environments would favour short ones.
                if len(returns[index]) < share:
                    returns[index].append(float(value))
                    lengths[index].append(int(length))
    flat = tuple(value for played in returns for value in played)
    return Evaluation(flat, tuple(length for played in lengths for length in played))
