"""An agent as a checkpoint holds it, to act with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.api.agents.agent import Agent
from rlg.api.agents.factory import agent_of, build_options
from rlg.api.config.environments import spaces_of
from rlg.errors import CheckpointError
from rlg.tracking.checkpoints.store import CheckpointStore
from rlg.tracking.folder import RunFolder

SMALL = {"type": "replay", "buffer_size": 1}  # a memory for those who only act


def load_agent(
    config: Mapping[str, Any], folder: RunFolder, step: int | None = None, best: bool = False
) -> tuple[Agent, Mapping[str, Any]]:
    """The agent with its weights (of the best evaluation, if asked), and the environment's spec."""
    store = CheckpointStore(folder.best if best else folder.checkpoints, read_only=True)
    if best and store.latest() is None:
        raise CheckpointError(
            f"{folder.path}: no best model was kept; that takes an evaluation and checkpoint.best. "
            "Leave --checkpoint out for the newest one."
        )
    memory = {"memory": SMALL} if "memory" in config else {}
    agent = agent_of({**config, **memory}, *spaces_of(config["env"]))
    agent.build(build_options(config), roles=["actor"])
    model = store.load(step, fallback=step is None, sections=["model"]).tree["model"]
    # An actor has a part of the model only; what it has must be in the checkpoint.
    known = agent.executor.kinds()
    agent.set_model({path: value for path, value in model.items() if path in known})
    return agent, config["env"]
