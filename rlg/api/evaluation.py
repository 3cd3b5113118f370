"""Evaluation: whole episodes without exploration, on environments of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlg.api.agents.agent import Agent
from rlg.envs import make_env

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
        return float(np.std(self.returns))

    @property
    def mean_length(self) -> float:
        return float(np.mean(self.lengths))


def evaluate(
    agent: Agent,
    env: Mapping[str, Any],
    episodes: int,
    seed: int,
    after_step: Callable[[], None] | None = None,
) -> Evaluation:
    """Plays `episodes` deterministic episodes; the agent's random streams are not touched."""
    num_envs = next(n for n in range(min(episodes, MOST_ENVS), 0, -1) if episodes % n == 0)
    share = episodes // num_envs
    returns: list[list[float]] = [[] for _ in range(num_envs)]
    lengths: list[list[int]] = [[] for _ in range(num_envs)]
    with make_env(**{**env, "num_envs": num_envs}, seed=seed) as environments:
        observations = environments.reset()
        agent.forget(explore=False)
        while any(len(played) < share for played in returns):
            step = environments.step(agent.get_actions(observations, explore=False))
            observations = step.observations
            agent.forget(step.terminals | step.truncations, explore=False)
            if after_step is not None:
                after_step()
            for index, value, length in zip(
                step.ended, step.episode_returns, step.episode_lengths, strict=True
            ):
                if len(returns[index]) < share:
                    returns[index].append(float(value))
                    lengths[index].append(int(length))
    flat = tuple(value for played in returns for value in played)
    return Evaluation(flat, tuple(length for played in lengths for length in played))
