"""The use cases behind the commands: train and resume.

They take plain values and return what there is to report; printing and exit codes are the command
line's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rlg.api.agents.factory import ConfiguredAgents
from rlg.api.config.validate import validate
from rlg.api.expectation import Budget, Expectation, Verdict
from rlg.api.folders import run_config
from rlg.api.inspection.estimate import report_on
from rlg.api.interruption import Interruption
from rlg.api.phases import (
    BAD_CONFIGURATION,
    DONE,
    INTERRUPTED,
    REWARD_NOT_REACHED,
    exit_code_of,
    phase,
)
from rlg.api.session import Session
from rlg.display.readable import short
from rlg.errors import CheckpointError, ExecutionError, RLGError, SpecError, error_line
from rlg.execution.engines import check_engine
from rlg.execution.engines.ranks.collective import DeadRankError
from rlg.execution.engines.settings import actor_task, is_follower
from rlg.execution.evaluation import Evaluation
from rlg.spelling import flat
from rlg.tracking.checkpoints.store import BrokenCheckpointError, CheckpointStore
from rlg.tracking.files import write_atomically
from rlg.tracking.folder import RunFolder

# Sections and keys that no checkpoint depends on.
FREE = (
    *("total_timesteps", "schedule_timesteps", "backend", "executor", "expected", "plugins"),
    *("logger", "evaluation", "checkpoint"),
)


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


@dataclass(frozen=True, slots=True)
class Start:
    """A run that is about to begin."""

    folder: Path
    backend: str
    device: str
    threads: int | None  # None: as many as the framework takes
    warnings: tuple[str, ...]  # settings that can be run but make little sense
    engine: str = ""  # what runs where, if not all in this process
    replicas: int = 1
    replica_devices: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        threads = "the framework's" if self.threads is None else self.threads
        line = f"run in {short(self.folder)}: {self.backend} on {self.device}, threads: {threads}"
        if self.replicas > 1:
            line += f" for each of {self.replicas} replicas"
        if self.replica_devices:
            line += f" on {', '.join(self.replica_devices)}"
        return f"{line}; {self.engine}" if self.engine else line


OnStart = Callable[[Start], None]


def train(
    config: Mapping[str, Any],
    path: Path | str,
    command: list[str] | None = None,
    *,
    as_test: bool = False,
    on_start: OnStart | None = None,
) -> Outcome:
    """Trains from the beginning, into a new run folder.

    As a test, within the budget of the section `expected`, and judged by its reward at the end.
    `on_start` is called when everything is built, and again after each of `executor.restarts`.
    """
    try:
        return _train(config, path, command, as_test, on_start)
    except DeadRankError as error:
        return _restarted(path, error, as_test, on_start)


def _train(
    config: Mapping[str, Any],
    path: Path | str,
    command: list[str] | None,
    as_test: bool,
    on_start: OnStart | None,
) -> Outcome:
    with phase("preparing"):
        checked = validate(config)
        check_engine(checked["executor"]["type"])
        expectation = Expectation.of(checked) if as_test else None
    _follow_others(checked)
    # Noted, so that a resume with a larger budget doesn't stretch schedules that have run out.
    checked["schedule_timesteps"] = checked["schedule_timesteps"] or checked["total_timesteps"]
    text = yaml.safe_dump(checked, sort_keys=False)
    with (
        RunFolder.create(path, text, seed=checked["seed"], command=command) as folder,
        _session(checked, folder) as session,
    ):
        with phase("preparing"):
            session.start()
        _announce(session, on_start)
        with Interruption() as interruption, phase("running"):
            budget = Budget(expectation, lambda: session.steps, interruption)
            session.run(budget)
            return _outcome(session, budget)


def resume(
    path: Path | str,
    *,
    checkpoint: int | None = None,
    changes: Mapping[str, Any] | None = None,
    as_test: bool = False,
    trust_plugins: bool = False,
    on_start: OnStart | None = None,
) -> Outcome:
    """Resumes a run from its newest intact checkpoint, or from the one of a given step.

    `changes` overwrite top-level keys of the run's configuration: another backend, a larger budget.
    """
    try:
        return _resume(path, checkpoint, changes, as_test, trust_plugins, on_start)
    except DeadRankError as error:
        return _restarted(path, error, as_test, on_start)


def _restarted(
    path: Path | str, error: DeadRankError, as_test: bool, on_start: OnStart | None
) -> Outcome:
    """Resumes a run that lost a rank as the user would, up to `executor.restarts` times.

    A test is not resumed: its budget of time is that of one process.
    """
    allowed = 0 if as_test else run_config(path)["executor"].get("restarts", 0)
    for number in range(1, allowed + 1):
        if CheckpointStore(RunFolder(path).checkpoints, read_only=True).latest() is None:
            break
        line = f"{error} Resumed from the last checkpoint: restart {number} of {allowed}."
        try:
            return _resume(path, trust_plugins=True, on_start=on_start, restart=line)
        except DeadRankError as again:
            error = again
    raise error


def _resume(
    path: Path | str,
    checkpoint: int | None = None,
    changes: Mapping[str, Any] | None = None,
    as_test: bool = False,
    trust_plugins: bool = False,
    on_start: OnStart | None = None,
    restart: str = "",
) -> Outcome:
    """`restart` says why the run resumes by itself."""
    with phase("preparing"):
        before = run_config(path, imports_plugins=True, trust_plugins=trust_plugins)
        before.setdefault("schedule_timesteps", before.get("total_timesteps"))
        config = validate({**before, **(changes or {})})
        expectation = Expectation.of(config) if as_test else None
    _follow_others(config)
    newest = CheckpointStore(RunFolder(path).checkpoints, read_only=True).latest()
    step = checkpoint if checkpoint is not None else newest
    is_done = RunFolder(path).status.state == "done"
    if is_done and step is not None and step >= config["total_timesteps"]:
        raise SpecError(
            f"{path}: the run is at step {step} of {config['total_timesteps']} already. Raise the "
            "budget to resume it: total_timesteps=..."
        )
    with RunFolder.open(path) as folder, _session(config, folder, restart) as session:
        with _naming(_changed(before, {**before, **(changes or {})})):
            resumed_at, skipped = session.resume(checkpoint)
        # The next resume starts from what this one changed.
        write_atomically(folder.config, yaml.safe_dump(config, sort_keys=False))
        _announce(session, on_start, restart)
        with Interruption() as interruption, phase("running"):
            budget = Budget(expectation, lambda: session.steps, interruption)
            session.run(budget)
            return _outcome(session, budget, resumed_at, skipped)


def _follow_others(config: Mapping[str, Any]) -> None:
    """A process beside the one that has the run folder: it follows, and that is all."""
    if actor_task(config["executor"]) is not None:
        from rlg.execution.engines.tf_cluster.actor import act, setup_of

        with phase("preparing"):
            setup = setup_of(ConfiguredAgents(config), config["executor"])
        with phase("running"):
            act(setup)
        raise SystemExit(0)
    if not is_follower(config["executor"]):
        return
    from rlg.execution.engines.ranks.horovod import follow_horovodrun

    with phase("running"):
        follow_horovodrun(ConfiguredAgents(config), int(config["total_timesteps"]))
    raise SystemExit(0)


@contextmanager
def _naming(changed: list[str]) -> Iterator[None]:
    """Blames the changed keys for a checkpoint that doesn't fit.

    Which keys may change follows from the checkpoint alone: from the names and spaces of its
    variables, the records of the memory among them.
    """
    try:
        yield
    except (CheckpointError, ExecutionError) as error:
        if not changed or isinstance(error, BrokenCheckpointError):
            raise
        raise SpecError(
            f"{', '.join(changed)}: a resumed run can't change this, since its checkpoint no "
            f"longer fits. {error} For other values start a new run: rlg train ..."
        ) from error


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Keys that a checkpoint may depend on and that have another value now."""
    old, new = flat(before), flat(after)
    found = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    return [path for path in found if path.partition(".")[0] not in FREE]


@contextmanager
def _session(config: Mapping[str, Any], folder: RunFolder, restart: str = "") -> Iterator[Session]:
    """A session that is closed in the end; a new run that is refused has its exit code noted."""
    if restart:
        folder.restarted(restart)
    try:
        with phase("preparing"):
            session = Session(config, folder)
        with session:
            yield session
    except RLGError as error:
        if exit_code_of(error) == BAD_CONFIGURATION and folder.status.state == "running":
            folder.finish("failed", exit_code=BAD_CONFIGURATION, error=error_line(error))
        raise


def _announce(session: Session, on_start: OnStart | None, restart: str = "") -> None:
    """Says how a run begins, to the caller and in its `run.log`."""
    backend = session.config["backend"]
    start = Start(
        session.folder.path,
        backend["type"],
        session.agent.executor.device,
        backend.get("threads"),
        (*filter(None, [restart]), *session.resumed_without, *report_on(session.config).warnings),
        session.loop.description,
        session.agent.executor.replicas,
        session.agent.executor.replica_devices,
    )
    session.folder.log.write("\n".join([start.line, *(f"warning: {w}" for w in start.warnings)]))
    if on_start is not None:
        on_start(start)


def _outcome(
    session: Session, budget: Budget, step: int | None = None, skipped: tuple[str, ...] = ()
) -> Outcome:
    """How the run ended, noted in its folder; a test is judged first, unless the user ended it."""
    verdict = None
    if budget.expectation is not None and (session.is_finished or not budget.by_user):
        verdict = budget.expectation.judge(session, budget.seconds)
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
        budget.seconds,
        session.evaluations.get("best_evaluation"),
        verdict,
    )
