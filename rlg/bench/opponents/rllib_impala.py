"""RLlib's IMPALA on Pong: 2 env runners with 4 environments each, 480 steps per update.

Each step is trained once, as far as RLlib keeps up: a block tells how many were.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def make(
    runners: int = 2, num_envs: int = 4, n_steps: int = 20, batch: int = 480, block: int = 1_600
) -> Callable[[], Any]:
    """Blocks of at least `block` steps."""
    import torch

    torch.set_num_threads(1)
    algorithm_of = import_module("ray.rllib.algorithms.impala").IMPALAConfig()
    config = (
        import_module("rllib_runner")  # of this folder
        .pong_config(algorithm_of)
        .env_runners(
            num_env_runners=runners,
            num_envs_per_env_runner=num_envs,
            rollout_fragment_length=n_steps,
        )
        .training(train_batch_size_per_learner=batch, lr=6e-4)
        .learners(num_learners=0, num_aggregator_actors_per_learner=0)
        .reporting(min_time_s_per_iteration=0, min_sample_timesteps_per_iteration=0)
    )
    algorithm = config.build_algo()
    counts = (0, 0)

    def run() -> dict[str, Any]:
        nonlocal counts
        before = counts
        while counts[0] < before[0] + block:
            counts = _counts(algorithm.train())
        steps, trained = (now - then for now, then in zip(counts, before, strict=True))
        return {"steps": steps, "trained": trained, "frame_skip": 4}

    return run


def _counts(result: dict[str, Any]) -> tuple[int, int]:
    """Steps that were sampled and trained, since the start."""
    sampled = int(result["env_runners"].get("num_env_steps_sampled_lifetime", 0))
    modules = result.get("learners", {}).get("__all_modules__", {})
    return sampled, int(modules.get("num_env_steps_trained_lifetime", 0))
