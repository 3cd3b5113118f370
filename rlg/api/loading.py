"""An agent as a checkpoint holds it, without its experience."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.api.agents.agent import Agent
from rlg.api.agents.factory import agent_of
from rlg.api.session import build_options
from rlg.envs import make_env
from rlg.tracking.checkpoints.store import CheckpointStore
from rlg.tracking.folder import RunFolder


def load_agent(
    config: Mapping[str, Any], folder: RunFolder, step: int | None = None
) -> tuple[Agent, Mapping[str, Any]]:
    """The agent with its weights, and the environment's spec."""
    env = config["env"]
    with make_env(**{**env, "num_envs": 1}) as example:
        spaces = example.observation_space, example.action_space
    # Only the model is loaded, so the memory need not have room for anything, nor be of its kind.
    memory = {"type": "replay", "buffer_size": 1}
    agent = agent_of({**config, "memory": memory}, *spaces)
    agent.build(build_options(config))
    store = CheckpointStore(folder.checkpoints, read_only=True)
    checkpoint = store.load(step, fallback=step is None, sections=["model"])
    agent.executor.set_weights(checkpoint.tree["model"])
    return agent, env
