"""`status.json`: how far a run came and how it ended, for people, sweeps and `resume`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from rlg.errors import RLGError
from rlg.tracking.atomic import write_atomically
from rlg.tracking.errors import TrackingError
from rlg.tracking.meta import timestamp
from rlg.tracking.numbers import plain, strict_json

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

    def write(self, path: Path) -> None:
        content = {key: plain(value) for key, value in asdict(self).items()}
        write_atomically(path, strict_json(content, indent=2) + "\n")

    @classmethod
    def read(cls, path: Path) -> Status:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            known = {field.name for field in fields(cls)} & set(content)
            status = cls(**{name: content[name] for name in known})
            return replace(status, resumed_from=tuple(status.resumed_from))
        except (OSError, ValueError, TypeError) as error:
            raise TrackingError(
                f"{path}: no readable status ({error}). Is it a run folder?"
            ) from None


def error_line(error: BaseException) -> str:
    """An error in one line: its message, with its type where it wasn't written for people."""
    text = " ".join(str(error).split())
    if isinstance(error, RLGError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
