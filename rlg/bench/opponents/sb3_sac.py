"""Stable-Baselines3's SAC on Pendulum with rl-zoo3's values, one thread: an update of 256 samples
for each step of one environment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

BATCH = 256


def make(steps: int) -> Callable[[], dict[str, Any]]:
    """Blocks of that many steps with their updates."""
    import torch
    from stable_baselines3 import SAC

    torch.set_num_threads(1)
    model = SAC(
        "MlpPolicy",
        "Pendulum-v1",
        learning_rate=1e-3,
        batch_size=BATCH,
        buffer_size=100_000,
        learning_starts=100,
        train_freq=1,
        gradient_steps=1,
        device="cpu",
    )

    def run() -> dict[str, Any]:
        model.learn(steps, reset_num_timesteps=False)
        return {"steps": steps, "trained": steps * BATCH}

    return run
