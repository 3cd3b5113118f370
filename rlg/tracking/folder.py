"""Run folders: where a run keeps its configuration, status, metrics and checkpoints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rlg.tracking import lock
from rlg.tracking.atomic import write_atomically
from rlg.tracking.errors import TrackingError
from rlg.tracking.meta import describe, timestamp
from rlg.tracking.numbers import plain, strict_json
from rlg.tracking.status import State, Status, error_line

INTERRUPTED = 130  # exit code after a signal, once everything is saved


class RunFolder:
    """One run's folder. `RunFolder(path)` only looks; `create` and `open` lock it for a run.

    As a context it notes how the run ended: done, failed with the error's line, or interrupted.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.config = self.path / "config.yaml"
        self.meta = self.path / "meta.json"
        self.status_file = self.path / "status.json"
        self.metrics = self.path / "metrics.jsonl"
        self.progress = self.path / "progress.csv"
        self.tensorboard = self.path / "tb"
        self.checkpoints = self.path / "checkpoints"
        self.best = self.path / "best"  # the model of the best evaluation
        self.graph = self.path / "graph.svg"
        self._lock: lock.FolderLock | None = None

    @classmethod
    def create(
        cls,
        path: Path | str,
        config: str,
        *,
        seed: int | None = None,
        command: Sequence[str] | None = None,
        cwd: Path | None = None,
    ) -> Self:
        """A folder for a new run, made if need be; one that holds a run already is refused.

        Args:
            config: the resolved configuration's text.
            cwd: whose git commit to note; by default the working directory.
        """
        folder = cls(path)
        folder.path.mkdir(parents=True, exist_ok=True)
        folder._lock = lock.FolderLock(folder.path)
        try:
            # The status comes last: where it is, the rest is complete.
            if folder.status_file.exists():
                raise TrackingError(
                    f"{folder.path}: holds a run already. Resume it (rlg resume {folder.path}) or "
                    "choose another folder."
                )
            folder.checkpoints.mkdir(exist_ok=True)
            write_atomically(folder.config, config)
            meta = plain(describe(seed=seed, command=command, cwd=cwd))
            write_atomically(folder.meta, strict_json(meta, indent=2) + "\n")
            Status().changed().write(folder.status_file)
        except BaseException:
            folder.close()
            raise
        return folder

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """An existing run's folder, to go on with it: next load a checkpoint and call `resumed`."""
        folder = cls(path)
        if not folder.status_file.exists():
            raise TrackingError(
                f"{folder.path}: no run folder (it has no status.json). Give the folder that "
                "`rlg train` named."
            )
        folder._lock = lock.FolderLock(folder.path)
        return folder

    # -- what is in it ----------------------------------------------------------------------------
    @property
    def status(self) -> Status:
        """As the file says; "running" without an `owner` means that the process was killed."""
        return Status.read(self.status_file)

    @property
    def owner(self) -> int | None:
        """The process that has locked the folder, if any."""
        return lock.owner(self.path)

    def read_config(self) -> str:
        return self.config.read_text(encoding="utf-8")

    def read_meta(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.meta.read_text(encoding="utf-8"))
        return content

    # -- how the run goes -------------------------------------------------------------------------
    def update(self, **changes: Any) -> Status:
        """Writes these fields of the status, e.g. `steps=1000, last_evaluation={...}`."""
        if self._lock is None:
            raise TrackingError(
                f"{self.path}: opened to look only. Use RunFolder.open to change it."
            )
        status = self.status.changed(**changes)
        status.write(self.status_file)
        return status

    def resumed(self, step: int) -> Status:
        """Notes that the run goes on from the checkpoint of this step; what was later is gone."""
        status = self.status
        earlier, evaluations = status.resumed_from, {}
        for name in ("last_evaluation", "best_evaluation"):
            known = getattr(status, name)
            evaluations[name] = None if known is None or known["step"] > step else known
        return self.update(
            **evaluations,
            state="running",
            steps=step,
            error=None,
            exit_code=None,
            resumed_from=(*earlier, {"step": step, "time": timestamp()}),
        )

    def finish(self, state: State, *, exit_code: int, error: str | None = None) -> Status:
        return self.update(state=state, exit_code=exit_code, error=error)

    def close(self) -> None:
        """Gives the folder free for others."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._lock is not None and self.status.state == "running":
                if error is None:
                    self.finish("done", exit_code=0)
                elif isinstance(error, KeyboardInterrupt):
                    self.finish("interrupted", exit_code=INTERRUPTED)
                else:
                    self.finish("failed", exit_code=1, error=error_line(error))
        finally:
            self.close()
