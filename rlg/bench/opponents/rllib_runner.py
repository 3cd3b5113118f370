"""One env runner of RLlib alone on Pong: DQN's exploration with the Nature CNN, one thread.

gymnasium's vector of its Atari environments with RLlib's own wrappers: 84x84 gray, 4 frames a step,
4 frames stacked.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def make(num_envs: int, steps: int) -> Callable[[], dict[str, Any]]:
    """Blocks of that many steps of each environment."""
    import torch

    torch.set_num_threads(1)
    config = pong_config().env_runners(num_env_runners=0, num_envs_per_env_runner=num_envs)
    runner_of = import_module("ray.rllib.env.single_agent_env_runner").SingleAgentEnvRunner
    runner = runner_of(config=config, worker_index=0)

    def run() -> dict[str, Any]:
        episodes = runner.sample(num_timesteps=num_envs * steps)
        return {"steps": sum(len(episode) for episode in episodes), "frame_skip": 4}

    return run


def pong_config(algorithm: Any = None) -> Any:
    """An algorithm, DQN if none is given, on Pong with the Nature CNN."""
    import ale_py
    import gymnasium

    gymnasium.register_envs(ale_py)
    import_module("ray.tune.registry").register_env("rlg-pong", _pong)
    model = import_module("ray.rllib.core.rl_module.default_model_config").DefaultModelConfig
    config = algorithm or import_module("ray.rllib.algorithms.dqn").DQNConfig()
    return (
        config.environment("rlg-pong")
        .framework("torch")
        .rl_module(
            model_config=model(
                conv_filters=[[32, 8, 4], [64, 4, 2], [64, 3, 1]],
                conv_activation="relu",
                head_fcnet_hiddens=[512],
            )
        )
    )


def _pong(_: Any) -> Any:
    import ale_py
    import gymnasium

    gymnasium.register_envs(ale_py)  # in each of Ray's processes
    wrap = import_module("ray.rllib.env.wrappers.atari_wrappers").wrap_atari_for_new_api_stack
    env = gymnasium.make("ALE/Pong-v5", frameskip=1, repeat_action_probability=0.0)
    return wrap(env, dim=84, frameskip=4, framestack=4)
