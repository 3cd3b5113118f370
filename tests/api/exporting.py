"""Runs for tests of exports: agents of every kind, with weights that nobody trained."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import rlg
from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.factory import agent_of
from rlg.api.config.environments import spaces_of
from rlg.api.loading import Loaded
from rlg.envs.registry import register_env


class MaskedChoices(gymnasium.Env[Any, Any]):
    """Two numbers to see, three choices, of which a mask of int8 allows some."""

    def __init__(self) -> None:
        self.observation_space = spaces.Dict(
            {"seen": spaces.Box(-1.0, 1.0, (2,)), "action_mask": spaces.MultiBinary(3)}
        )
        self.action_space = spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self._observe(), {}

    def step(self, action: int) -> Any:
        assert self._mask[action], "the action is not allowed"
        return self._observe(), 1.0, bool(self.np_random.random() < 0.2), False, {}

    def _observe(self) -> Any:
        self._mask = (self.np_random.random(3) < 0.4).astype(np.int8)
        self._mask[self.np_random.integers(3)] = 1
        seen = self.np_random.uniform(-1.0, 1.0, 2).astype(np.float32)
        return {"seen": seen, "action_mask": self._mask}


class Nested(gymnasium.Env[Any, Any]):
    """Nested observations with a small image and a category; a Tuple of actions."""

    def __init__(self) -> None:
        parts = {"picture": spaces.Box(0, 255, (40, 36, 3), np.uint8), "kind": spaces.Discrete(4)}
        self.observation_space = spaces.Dict(
            {"inner": spaces.Dict(parts), "numbers": spaces.Box(-np.inf, np.inf, (3,))}
        )
        self.action_space = spaces.Tuple(
            (spaces.Discrete(3), spaces.Box(-2.0, 1.0, (2,)), spaces.MultiDiscrete([2, 4]))
        )

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.observation_space.seed(int(self.np_random.integers(2**31)))
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        end = bool(self.np_random.random() < 0.2)
        return self.observation_space.sample(), 0.5, end, False, {}


register_env("masked_choices", MaskedChoices)
register_env("nested", Nested)

SMALL = ["network.units=[16]"]
LSTM = ["network=lstm", "network.units=8"]
PENDULUM = ["env=pendulum", *SMALL]
CASES = {
    "dqn": ["agent=dqn", *SMALL],
    "dueling": ["agent=dqn", "agent.dueling=true", *SMALL],
    "rainbow": ["agent=rainbow", *SMALL],
    "quantiles": ["agent=qr_dqn", "agent.n_quantiles=7", *SMALL],
    "dqn_masks": ["agent=dqn", "env=masked_choices", *SMALL],
    "qr_dqn_masks": ["agent=qr_dqn", "env=masked_choices", *SMALL],
    "dqn_lstm_masks": ["agent=dqn", "env=masked_choices", *LSTM],
    "pqn_masks": ["agent=pqn", "env=masked_choices", *SMALL],
    "dqn_lstm": ["agent=dqn", *LSTM],
    "r2d2_gru": ["agent=r2d2", "network=gru", "network.units=8"],
    "apex": ["agent=apex", "memory=prioritized", *SMALL],
    "ppo": ["agent=ppo", *SMALL],
    "ppo_normal": ["agent=ppo", *PENDULUM, "agent.bounded=normal"],
    "ppo_squashed": ["agent=ppo", *PENDULUM, "agent.normalize_observations=true"],
    "ppo_beta": ["agent=ppo", *PENDULUM, "agent.bounded=beta"],
    "ppo_lstm": ["agent=ppo", *LSTM],
    "ppo_masks": ["agent=ppo", "env=masked_choices", *SMALL],
    "ppo_nested": ["agent=ppo", "env=nested", "network=auto", "network.features_dim=16"],
    "pqn": ["agent=pqn", *SMALL],
    "a2c": ["agent=a2c", *SMALL],
    "a3c": ["agent=a3c", *PENDULUM],
    "impala_lstm": ["agent=impala", *LSTM],
    "sac": ["agent=sac", *PENDULUM],
    "sac_choices": ["agent=sac", *SMALL],
    "td3": ["agent=td3", *PENDULUM],
    "ddpg": ["agent=ddpg", *PENDULUM],
    "pong": ["agent=dqn", "env=pong", "network=nature_cnn", "network.features_dim=32"],
    "pong_residual": ["agent=impala", "env=pong", "network=impala_small", "executor=local"],
}


def untrained(case: str, backend: str, seed: int = 0) -> Loaded:
    """A run of a case as `load_run` would return it, with random weights and statistics."""
    config = rlg.compose(*CASES[case])
    agent = agent_of(config, *spaces_of(config["env"]))
    agent.build(BuildOptions(backend), roles=["actor"])
    rng = np.random.default_rng(seed)
    model = {
        path: np.abs(rng.normal(1.0, 0.3, np.shape(value)))
        if path.endswith("variance")
        else value + rng.normal(0.0, 0.2, np.shape(value))
        for path, value in agent.get_model().items()
    }
    dtypes = {path: value.dtype for path, value in agent.get_model().items()}
    agent.set_model({path: np.asarray(v, dtypes[path]) for path, v in model.items()})
    return Loaded(agent, config, 7)
