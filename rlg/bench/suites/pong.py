"""Ape-X on Pong with the Nature CNN, as the suites `worker` and `apex` run it, and its ceiling.

The values are those of `conf/tuned/apex_atari.yaml`, but for the network. One thread everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rlg.api.agents.factory import ConfiguredAgents
from rlg.api.config.validate import validate
from rlg.bench.suites.models import handwritten_acting

FRAME_SKIP, ACTIONS, HORIZON = 4, 6, 1_000_000
LOCAL = {"type": "local"}


def agents(
    num_envs: int, executor: Mapping[str, Any] = LOCAL, *, replicas: int = 1, **agent: Any
) -> ConfiguredAgents:
    """The factory of agents and environments; `agent` are keys of its own."""
    values = {"type": "apex", "gradient_steps": 1, "target_update_interval": 4_000, "n_step": 3}
    frames = {"type": "frame_replay", "buffer_size": 20_000, "num_envs": num_envs, "alpha": 0.6}
    config = validate(
        {
            "total_timesteps": HORIZON,
            "agent": {**values, **agent},
            "env": {"name": "pong", "num_envs": num_envs, "num_threads": 1},
            "network": {"type": "nature_cnn"},
            "memory": {**frames, "beta": 0.4, "frame_stack": 4},
            "optimizer": {"type": "adam", "learning_rate": 2.5e-4},
            "backend": {"type": "torch", "threads": 1, "replicas": replicas},
            "executor": dict(executor),
        }
    )
    return ConfiguredAgents(config)


def raw_environment(num_envs: int) -> tuple[Any, Callable[[Any], Any]]:
    """First observations and a step of ALE's own vector environment, seen as [N, H, W, C]."""
    from ale_py.vector_env import AtariVectorEnv

    env = AtariVectorEnv(
        "pong", num_envs, num_threads=1, stack_num=4, frameskip=FRAME_SKIP, noop_max=30
    )
    first, _ = env.reset(seed=0)
    return first.transpose(0, 2, 3, 1), lambda actions: env.step(actions)[0].transpose(0, 2, 3, 1)


def bare_worker(num_envs: int, steps: int) -> Callable[[], None]:
    """The ceiling of a worker: ALE's environment and a hand-written network, nothing recorded."""
    act = handwritten_acting("torch", "cnn")
    observations, step = raw_environment(num_envs)

    def run() -> None:
        nonlocal observations
        for _ in range(steps):
            observations = step(act(observations))

    return run
