"""The use cases behind the commands: train, resume, evaluate.

They take plain values and return what there is to report; printing and exit codes are the command
line's business.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rlg.api.config.validate import validate
from rlg.api.expectation import Budget, Expectation, Verdict
from rlg.api.interruption import Interruption
from rlg.api.loading import load_agent
from rlg.api.phases import BAD_CONFIGURATION, DONE, INTERRUPTED, REWARD_NOT_REACHED, phase
from rlg.api.session import Session
from rlg.errors import RLGError, SpecError
from rlg.execution.evaluation import Evaluation, evaluate
from rlg.tracking.checkpoints.store import CheckpointStore
from rlg.tracking.files import write_atomically
from rlg.tracking.folder import RunFolder, error_line


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
    seconds: float = 0.0
    best: Mapping[str, Any] | None = None  # the best evaluation: `step` and `mean_reward`
    verdict: Verdict | None = None  # of a run that was a test

    @property
    def steps_per_second(self) -> float:
        """Of this process, evaluations and checkpoints included."""
        return (self.steps - (self.resumed_at or 0)) / self.seconds if self.seconds else 0.0


def train(
    config: Mapping[str, Any],
    path: Path | str,
    command: list[str] | None = None,
    *,
    as_test: bool = False,
) -> Outcome:
    """Trains from the beginning, into a new run folder.

    As a test, within the budget of the section `expected`, and judged by its reward at the end.
    """
    with phase("preparing"):
        checked = validate(config)
        expectation = Expectation.of(checked) if as_test else None
    text = yaml.safe_dump(checked, sort_keys=False)
    with (
        RunFolder.create(path, text, seed=checked["seed"], command=command) as folder,
        _prepared(checked, folder) as session,
    ):
        with _preparing(folder):
            session.start()
        return _finish(session, expectation=expectation)


def resume(
    path: Path | str,
    *,
    checkpoint: int | None = None,
    changes: Mapping[str, Any] | None = None,
    as_test: bool = False,
) -> Outcome:
    """Goes on with a run from its newest intact checkpoint, or from the one of a given step.

    `changes` overwrite top-level keys of the run's configuration: another backend, a larger budget.
    """
    with phase("preparing"):
        config = validate({**_config_of(path), **(changes or {})})
        expectation = Expectation.of(config) if as_test else None
    newest = CheckpointStore(RunFolder(path).checkpoints, read_only=True).latest()
    step = checkpoint if checkpoint is not None else newest
    is_done = RunFolder(path).status.state == "done"
    if is_done and step is not None and step >= config["total_timesteps"]:
        raise SpecError(
            f"{path}: the run is at step {step} of {config['total_timesteps']} already. Raise the "
            "budget to go on: total_timesteps=..."
        )
    with RunFolder.open(path) as folder, _prepared(config, folder) as session:
        resumed_at, skipped = session.resume(checkpoint)
        # The next resume goes on with what this one changed.
        write_atomically(folder.config, yaml.safe_dump(config, sort_keys=False))
        return _finish(session, resumed_at, skipped, expectation)


def evaluate_run(
    path: Path | str, *, episodes: int, checkpoint: int | None = None, best: bool = False
) -> Evaluation:
    """Plays episodes with a run's agent as a checkpoint, or its best evaluation, holds it."""
    config = validate(_config_of(path))
    agent, env = load_agent(config, RunFolder(path), checkpoint, best=best)
    return evaluate(agent, env, episodes, seed=int(config["seed"]) + 1)


def _config_of(path: Path | str) -> dict[str, Any]:
    folder = RunFolder(path)
    if not folder.status_file.exists():
        raise SpecError(f"{path}: not a run folder. Give the folder that `rlg train` named.")
    try:
        config = yaml.safe_load(folder.read_config())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        line = " ".join(str(error).split())
        raise SpecError(f"{folder.config}: it can't be read: {line}") from None
    if not isinstance(config, dict):
        raise SpecError(f"{folder.config}: it holds no configuration. Is it a run folder?")
    return config


def _prepared(config: Mapping[str, Any], folder: RunFolder) -> Session:
    with _preparing(folder):
        return Session(config, folder)


@contextmanager
def _preparing(folder: RunFolder) -> Iterator[None]:
    """Notes in a new run's folder that it could not begin; an old run stays what it was."""
    try:
        with phase("preparing"):
            yield
    except RLGError as error:
        if folder.status.state == "running":
            folder.finish("failed", exit_code=BAD_CONFIGURATION, error=error_line(error))
        raise


def _finish(
    session: Session,
    step: int | None = None,
    skipped: tuple[str, ...] = (),
    expectation: Expectation | None = None,
) -> Outcome:
    started = time.monotonic()
    verdict = None
    with Interruption() as interruption, phase("running"):
        if expectation is None:
            session.run(interruption)
        else:
            session.run(Budget(expectation, lambda: session.steps, interruption))
            if session.is_finished or not interruption.requested:
                verdict = expectation.judge(session, time.monotonic() - started)
    if verdict is not None:
        code = DONE if verdict.is_reached else REWARD_NOT_REACHED
    else:
        code = DONE if session.is_finished else INTERRUPTED
    session.folder.finish("interrupted" if code == INTERRUPTED else "done", exit_code=code)
    return Outcome(
        session.folder.path,
        code,
        session.steps,
        session.updates,
        session.last if verdict is None else verdict.evaluation,
        skipped,
        step,
        time.monotonic() - started,
        session.evaluations.get("best_evaluation"),
        verdict,
    )
