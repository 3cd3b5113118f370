"""XuanCe's PPO on CartPole with rl-zoo3's values, one thread: 20 samples trained per sample
collected. Its policy shares a first layer of 64 units between actor and critic, as its own examples
do: less work than two networks of two layers.
"""

from __future__ import annotations

import os
import tempfile
from argparse import Namespace
from collections.abc import Callable
from importlib import import_module
from typing import Any

STEPS = 32 * 8  # of one rollout


def make(rollouts: int) -> Callable[[], dict[str, Any]]:
    """Blocks of that many rollouts with their updates."""
    import torch

    torch.set_num_threads(1)
    os.chdir(tempfile.mkdtemp())  # it writes logs below the working folder
    config = Namespace(**VALUES)
    envs = import_module("xuance.environment").make_envs(config)
    agent = import_module("xuance.torch.agents").PPO_Agent(config, envs)

    def run() -> dict[str, Any]:
        agent.train(32 * rollouts)
        return {"steps": STEPS * rollouts, "trained": STEPS * rollouts * 20}

    return run


VALUES = {
    "agent": "PPO",
    "dl_toolbox": "torch",
    "env_name": "Classic Control",
    "env_id": "CartPole-v1",
    "env_seed": 1,
    "seed": 1,
    "vectorize": "DummyVecEnv",
    "parallels": 8,
    "representation": "Basic_MLP",
    "policy": "Categorical_AC",
    "learner": "PPO_Learner",
    "runner": "DRL",
    "representation_hidden_size": [64],
    "actor_hidden_size": [64],
    "critic_hidden_size": [64],
    "activation": "relu",
    "running_steps": 10_000_000,
    "horizon_size": 32,
    "n_epochs": 20,
    "n_minibatch": 1,
    "learning_rate": 1e-3,
    "vf_coef": 0.5,
    "ent_coef": 0.0,
    "clip_range": 0.2,
    "gamma": 0.98,
    "use_gae": True,
    "gae_lambda": 0.8,
    "use_advnorm": True,
    "use_grad_clip": True,
    "grad_clip_norm": 0.5,
    "use_actions_mask": False,
    "use_obsnorm": False,
    "use_rewnorm": False,
    "obsnorm_range": 5,
    "rewnorm_range": 5,
    "test_episode": 1,
    "log_dir": "logs/",
    "model_dir": "models/",
    "logger": "tensorboard",
    "project_name": "bench",
    "wandb_user_name": "",
    "render": False,
    "render_mode": "rgb_array",
    "fps": 50,
    "device": "cpu",
    "distributed_training": False,
}
