"""An agent as a checkpoint holds it, without its experience."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.api.agents.agent import Agent
from rlg.api.agents.factory import agent_of, build_options
from rlg.envs import make_env
from rlg.errors import CheckpointError
from rlg.tracking.checkpoints.store import CheckpointStore
from rlg.tracking.folder import RunFolder


def load_agent(
    config: Mapping[str, Any], folder: RunFolder, step: int | None = None, *, best: bool = False
) -> tuple[Agent, Mapping[str, Any]]:
    """The agent with its weights (of the best evaluation, if asked), and the environment's spec."""
    store = CheckpointStore(folder.best if best else folder.checkpoints, read_only=True)
    if best and store.latest() is None:
        raise CheckpointError(
            f"{folder.path}: no best model was kept; that takes an evaluation and checkpoint.best. "
            "Leave --checkpoint out for the newest one."
        )
    env = config["env"]
    with make_env(**{**env, "num_envs": 1}) as example:
        spaces = example.observation_space, example.action_space
    # Only the model is loaded, so the memory need not have room for anything, nor be of its kind.
    memory = {"type": "replay", "buffer_size": 1}
    agent = agent_of({**config, "memory": memory}, *spaces)
    agent.build(build_options(config))
    checkpoint = store.load(step, fallback=step is None, sections=["model"])
    agent.set_model(checkpoint.tree["model"])
    return agent, env
