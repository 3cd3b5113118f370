"""RLlib's DQN with prioritized replay on Pong: 2 env runners with 4 environments each, batch 512.

One training step collects 50 steps of each environment and makes one update: 512 samples trained
per 400 collected, a replay ratio of 1.28.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def make(
    runners: int = 2, num_envs: int = 4, batch: int = 512, steps: int = 50
) -> Callable[[], Any]:
    """Blocks of one training step."""
    import torch

    torch.set_num_threads(1)
    buffer = {"type": "PrioritizedEpisodeReplayBuffer", "capacity": 20_000}
    config = import_module("rllib_runner").pong_config()  # of this folder
    config = (
        config.env_runners(
            num_env_runners=runners,
            num_envs_per_env_runner=num_envs,
            rollout_fragment_length=steps,
        )
        .training(
            train_batch_size_per_learner=batch,
            replay_buffer_config={**buffer, "alpha": 0.6, "beta": 0.4},
            num_steps_sampled_before_learning_starts=1_000,
            n_step=3,
            double_q=True,
            dueling=True,
        )
        .reporting(min_time_s_per_iteration=0, min_sample_timesteps_per_iteration=0)
    )
    algorithm = config.build_algo()
    sampled = 0
    while sampled < 1_000:  # the memory is filled before blocks count
        sampled = _sampled(algorithm.train())

    def run() -> dict[str, Any]:
        nonlocal sampled
        before, sampled = sampled, _sampled(algorithm.train())
        return {"steps": sampled - before, "trained": batch, "frame_skip": 4}

    return run


def _sampled(result: dict[str, Any]) -> int:
    return int(result["env_runners"]["num_env_steps_sampled_lifetime"])
