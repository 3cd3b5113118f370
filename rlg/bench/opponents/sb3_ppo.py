"""Stable-Baselines3's PPO on CartPole with rl-zoo3's values, one thread: 20 samples trained per
sample collected, on its own vector of gymnasium environments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STEPS = 32 * 8  # of one rollout


def make(rollouts: int) -> Callable[[], dict[str, Any]]:
    """Blocks of that many rollouts with their updates."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    model = PPO(
        "MlpPolicy",
        make_vec_env("CartPole-v1", n_envs=8),
        n_steps=32,
        batch_size=256,
        n_epochs=20,
        gamma=0.98,
        gae_lambda=0.8,
        learning_rate=1e-3,
        clip_range=0.2,
        device="cpu",
    )

    def run() -> dict[str, Any]:
        model.learn(STEPS * rollouts, reset_num_timesteps=False)
        return {"steps": STEPS * rollouts, "trained": STEPS * rollouts * 20}

    return run
