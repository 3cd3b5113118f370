"""The use cases behind the commands: train, resume, evaluate.

They take plain values and return what there is to report; printing and exit codes are the command
line's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rlg.api.config.validate import validate
from rlg.api.evaluation import Evaluation, evaluate
from rlg.api.interruption import Interruption
from rlg.api.loading import load_agent
from rlg.api.session import Session
from rlg.errors import SpecError
from rlg.tracking.atomic import write_atomically
from rlg.tracking.checkpoints import CheckpointStore
from rlg.tracking.folder import INTERRUPTED, RunFolder

DONE, REWARD_NOT_REACHED = 0, 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    folder: Path
    exit_code: int
    steps: int
    updates: int
    evaluation: Evaluation | None
    skipped: tuple[str, ...] = ()
    resumed_at: int | None = None


def train(config: Mapping[str, Any], path: Path | str, command: list[str] | None = None) -> Outcome:
    """Trains from the beginning, into a new run folder."""
    checked = validate(config)
    text = yaml.safe_dump(checked, sort_keys=False)
    with (
        RunFolder.create(path, text, seed=checked["seed"], command=command) as folder,
        Session(checked, folder) as session,
    ):
        session.start()
        return _finish(session)


def resume(
    path: Path | str,
    *,
    checkpoint: int | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Outcome:
    """Goes on with a run from its newest intact checkpoint, or from the one of a given step.

    `changes` overwrite top-level keys of the run's configuration: another backend, a larger budget.
    """
    config = validate({**_config_of(path), **(changes or {})})
    newest = CheckpointStore(RunFolder(path).checkpoints, read_only=True).latest()
    step = checkpoint if checkpoint is not None else newest
    if step is not None and step >= config["total_timesteps"]:
        raise SpecError(
            f"{path}: the run is at step {step} of {config['total_timesteps']} already. Raise the "
            "budget to go on: total_timesteps=..."
        )
    with RunFolder.open(path) as folder, Session(config, folder) as session:
        resumed_at, skipped = session.resume(checkpoint)
        # The next resume goes on with what this one changed.
        write_atomically(folder.config, yaml.safe_dump(config, sort_keys=False))
        return _finish(session, resumed_at, skipped)


def evaluate_run(path: Path | str, *, episodes: int, checkpoint: int | None = None) -> Evaluation:
    """Plays episodes with a run's agent as a checkpoint holds it."""
    config = validate(_config_of(path))
    agent, env = load_agent(config, RunFolder(path), checkpoint)
    return evaluate(agent, env, episodes, seed=int(config["seed"]) + 1)


def _config_of(path: Path | str) -> dict[str, Any]:
    folder = RunFolder(path)
    if not folder.status_file.exists():
        raise SpecError(f"{path}: no run folder. Give the folder that `rlg train` named.")
    config: dict[str, Any] = yaml.safe_load(folder.read_config())
    return config


def _finish(session: Session, step: int | None = None, skipped: tuple[str, ...] = ()) -> Outcome:
    with Interruption() as interruption:
        session.run(interruption)
    code = DONE if session.is_finished else INTERRUPTED
    state: Any = "done" if session.is_finished else "interrupted"
    session.folder.finish(state, exit_code=code)
    return Outcome(
        session.folder.path,
        code,
        session.steps,
        session.agent.updates,
        session.last,
        skipped,
        step,
    )
