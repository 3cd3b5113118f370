"""Run folders: where a run keeps its configuration, status, metrics and checkpoints.

`RunFolder` is the only writer of `status.json`, and writes it only while it holds the folder's
lock: two processes never take turns in one run's status.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from traceback import format_exception
from typing import Any, Literal, Self, get_args

from rlg.errors import RLGError, TrackingError, error_line
from rlg.tracking import lock
from rlg.tracking.files import numbers, to_json, write_atomically
from rlg.tracking.log import RunLog
from rlg.tracking.meta import describe, differences, machine, timestamp, versions
from rlg.tracking.metrics import evaluations

INTERRUPTED = 130  # exit code after a signal, once everything is saved
ATTEMPTS = 1000  # to make a folder whose parent others remove
State = Literal["running", "done", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Status:
    """One state of a run. Times are in UTC; `steps` are environment steps."""

    state: State = "running"
    steps: int = 0
    updates: int = 0
    best_evaluation: dict[str, Any] | None = None  # e.g. {"step": 5000, "mean_reward": 487.5}
    last_evaluation: dict[str, Any] | None = None
    error: str | None = None
    exit_code: int | None = None
    resumed_from: tuple[dict[str, Any], ...] = ()  # {"step": ..., "time": ...} each
    restarts: int = 0  # of these, by the run itself after a rank was lost
    started: str = ""
    updated: str = ""
    finished: str | None = None

    def changed(self, **changes: Any) -> Status:
        """A copy with these fields and a fresh time; ending a run sets when it finished."""
        now = timestamp()
        new = replace(self, **changes, updated=now)
        if new.state not in get_args(State):
            options = ", ".join(get_args(State))
            raise TrackingError(f"Status has no state {new.state!r}; use one of {options}.")
        return replace(
            new,
            started=new.started or now,
            finished=None if new.state == "running" else new.finished or now,
        )

    @classmethod
    def read(cls, path: Path) -> Status:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            known = {field.name for field in fields(cls)} & set(content)
            values = {name: content[name] for name in known}
            for name in ("last_evaluation", "best_evaluation"):
                values[name] = numbers(values[name]) if values.get(name) else None
            return cls(**{**values, "resumed_from": tuple(values.get("resumed_from", ()))})
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise TrackingError(
                f"{path}: no readable status ({error}). Remove the folder, or give another."
            ) from None


class RunFolder:
    """One run's folder. `RunFolder(path)` only looks; `create` and `open` lock it for a run.

    As a context it notes how the run ended: done, failed with the error's line, or interrupted.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.config = self.path / "config.yaml"
        self.meta = self.path / "meta.json"
        self.status_file = self.path / "status.json"
        self.log = RunLog(self.path / "run.log")
        self.metrics = self.path / "metrics.jsonl"
        self.progress = self.path / "progress.csv"
        self.tensorboard = self.path / "tb"
        self.checkpoints = self.path / "checkpoints"
        self.best = self.path / "best"  # the model of the best evaluation
        self.graph = self.path / "graph.svg"
        self._lock: lock.FolderLock | None = None
        self._listening = ExitStack()

    @classmethod
    def create(
        cls,
        path: Path | str,
        config: str,
        *,
        seed: int | None = None,
        command: Sequence[str] | None = None,
    ) -> Self:
        """A locked folder for a new run; one that holds a run already is refused.

        `config` is the resolved configuration's text.
        """
        folder = cls(path)
        folder.path.mkdir(parents=True, exist_ok=True)
        folder._lock = lock.FolderLock(folder.path)
        try:
            # The status comes last: where it is, the rest is complete.
            if folder.holds_run:
                raise TrackingError(
                    f"{folder.path}: holds a run already. Resume it (rlg resume {folder.path}) or "
                    "choose another folder."
                )
            folder.checkpoints.mkdir(exist_ok=True)
            write_atomically(folder.config, config)
            meta = describe(seed=seed, command=command)
            write_atomically(folder.meta, to_json(meta, indent=2) + "\n")
            folder._write(Status().changed())
        except BaseException:
            folder.close()
            raise
        return folder

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """An existing run's folder, to resume it: next load a checkpoint and call `resumed`."""
        folder = cls(path)
        if not folder.holds_run:
            raise TrackingError(
                f"{folder.path}: not a run folder: status.json is missing. Give the folder that "
                "`rlg train` named."
            )
        folder._lock = lock.FolderLock(folder.path)
        return folder

    @classmethod
    def mark_failed(cls, path: Path | str, error: str, exit_code: int) -> bool:
        """Notes the failure of a run that has no process any more, or could not begin.

        False if the run has ended already, or another process works on it.
        """
        folder = cls(path)
        if not folder.path.is_dir():
            return False
        try:
            folder._lock = lock.FolderLock(folder.path)
        except TrackingError:
            return False
        try:
            status = folder.status if folder.holds_run else Status()
            if status.state not in ("running", "failed"):
                return False
            folder._write(status.changed(state="failed", error=error, exit_code=exit_code))
        finally:
            folder.close()
        return True

    # -- what is in it ----------------------------------------------------------------------------
    @property
    def has_checkpoints(self) -> bool:
        return any(self.checkpoints.glob("step-*"))

    @property
    def holds_run(self) -> bool:
        """Whether a run has begun here: a status says so, or checkpoints that outlived it."""
        return self.status_file.exists() or self.has_checkpoints

    @property
    def missing(self) -> list[str]:
        """Names of the files without which it is not a run's folder."""
        is_there = {self.config: self.config.is_file(), self.status_file: self.holds_run}
        return [path.name for path, found in is_there.items() if not found]

    @property
    def status(self) -> Status:
        """As the file says; "running" without an `owner` means that the process was killed.

        So does a file that is lost: checkpoints hold all that a resume needs.
        """
        try:
            return Status.read(self.status_file)
        except TrackingError:
            if not self.has_checkpoints:
                raise
            return Status()

    @property
    def owner(self) -> int | None:
        """The process that has locked the folder, if any; 0 if its id is not known."""
        return lock.owner(self.path)

    def read_config(self) -> str:
        return self.config.read_text(encoding="utf-8")

    def read_meta(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.meta.read_text(encoding="utf-8"))
        return content

    # -- how the run goes -------------------------------------------------------------------------
    def update(self, **changes: Any) -> Status:
        """Writes these fields of the status, e.g. `steps=1000, last_evaluation={...}`."""
        return self._write(self.status.changed(**changes))

    def restarted(self, line: str) -> Status:
        """Notes that the run resumes by itself, and why."""
        self.log.write(line)
        return self.update(restarts=self.status.restarts + 1)

    def resumed(self, step: int) -> Status:
        """Notes that the run resumes from the checkpoint of this step; what was later is gone."""
        self.log.write(f"resumed from step {step:,}")
        # An exact resume is promised only if none of this has changed.
        now = {"versions": versions(), "machine": machine()}
        changed = differences(self.read_meta(), now) if self.meta.exists() else []
        self.log.write("\n".join(f"changed since the start: {line}" for line in changed))
        last, best = evaluations(self.metrics, step)
        status = self.status
        return self.update(
            last_evaluation=last,
            best_evaluation=best,
            state="running",
            steps=step,
            error=None,
            exit_code=None,
            resumed_from=(*status.resumed_from, {"step": step, "time": timestamp()}),
        )

    def finish(self, state: State, *, exit_code: int, error: str | None = None) -> Status:
        self.log.write(f"{state}, exit code {exit_code}" + (f": {error}" if error else ""))
        return self.update(state=state, exit_code=exit_code, error=error)

    def clear(self) -> None:
        """Removes what a run left that has nothing to resume from; other files stay."""
        files = (self.status_file, self.config, self.meta, self.metrics, self.progress, self.graph)
        held = self._lock or lock.FolderLock(self.path)
        try:
            for path in (*files, self.log.path, self.graph.with_suffix(".html")):
                path.unlink(missing_ok=True)
            for path in (self.tensorboard, self.checkpoints, self.best, self.path / "plans"):
                shutil.rmtree(path, ignore_errors=True)
        finally:
            if self._lock is None:
                held.release()

    def close(self) -> None:
        """Releases the folder lock."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _write(self, status: Status) -> Status:
        if self._lock is None:
            raise TrackingError(
                f"{self.path}: opened to look only. Use RunFolder.open to change it."
            )
        write_atomically(self.status_file, to_json(asdict(status), indent=2) + "\n")
        return status

    def __enter__(self) -> Self:
        self._listening.enter_context(self.log.listening())
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not isinstance(error, RLGError | KeyboardInterrupt):
            self.log.write("".join(format_exception(error)))
        try:
            self._listening.close()
            if self._lock is not None and self.status.state == "running":
                if error is None:
                    self.finish("done", exit_code=0)
                elif isinstance(error, KeyboardInterrupt):
                    self.finish("interrupted", exit_code=INTERRUPTED)
                else:
                    self.finish("failed", exit_code=1, error=error_line(error))
        finally:
            self.close()


def claim(path: Path) -> Path:
    """Makes a folder that did not exist: `path`, or `path-2`, `path-3`... if the name is taken.

    Making a folder is one step of the file system, so of any number of processes each gets its own.
    """
    for number in itertools.count(1):
        candidate = path if number == 1 else path.with_name(f"{path.name}-{number}")
        for attempt in range(ATTEMPTS):
            try:
                candidate.parent.mkdir(parents=True, exist_ok=True)
                candidate.mkdir()
            except (FileExistsError, FileNotFoundError):
                if candidate.exists():
                    break
                # Somebody may have removed the parent, which was empty, just now.
                if attempt == ATTEMPTS - 1:
                    raise
            else:
                return candidate
    raise AssertionError("there are always more numbers")
