"""The agent of a run as a checkpoint holds it, to act with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlg.api.agents.agent import Agent
from rlg.api.agents.factory import agent_of, build_options
from rlg.api.config.environments import spaces_of
from rlg.api.config.validate import validate
from rlg.api.folders import run_config
from rlg.errors import CheckpointError, SpecError
from rlg.tracking.checkpoints.store import CheckpointStore, step_of
from rlg.tracking.folder import RunFolder

Checkpoint = int | str | None  # a step, "best", or the newest intact one


@dataclass(frozen=True, slots=True)
class Loaded:
    """An agent that acts, the run's configuration, and the step of the checkpoint."""

    agent: Agent
    config: dict[str, Any]
    step: int


def load_run(path: str | Path, checkpoint: Checkpoint, trust_plugins: bool) -> Loaded:
    """Builds the agent's actor, on the run's own backend, with the weights of a checkpoint."""
    best = checkpoint == "best"
    step = None if best else step_given(checkpoint)
    config = validate(run_config(path, imports_plugins=True, trust_plugins=trust_plugins))
    folder = RunFolder(path)
    store = CheckpointStore(folder.best if best else folder.checkpoints, read_only=True)
    if best and store.latest() is None:
        raise CheckpointError(
            f"{folder.path}: no best model was kept; that takes an evaluation and checkpoint.best. "
            "Leave --checkpoint out for the newest one."
        )
    agent = agent_of(config, *spaces_of(config["env"]))
    agent.build(build_options(config), roles=["actor"])  # without the memory
    saved = store.load(step, fallback=step is None, sections=["model"])
    # An actor has a part of the model only; what it has must be in the checkpoint.
    known = agent.executor.kinds()
    agent.set_model({path: value for path, value in saved.tree["model"].items() if path in known})
    return Loaded(agent, config, saved.step)


def step_given(checkpoint: Checkpoint) -> int | None:
    """The step that somebody named, `step-000001024` or 1024; None: the newest."""
    try:
        return None if checkpoint is None else step_of(str(checkpoint))
    except CheckpointError as error:
        raise SpecError(f"--checkpoint: {error}") from None
