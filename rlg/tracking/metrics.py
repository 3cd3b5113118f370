"""Metrics: means of episodes; one JSON line per call, the same as a table, TensorBoard scalars.

`metrics.jsonl` is the truth: lines are only appended, and what a kill tore is dropped at the next
start. Values under `time/` depend on the clock, all others repeat bit by bit.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rlg.errors import TrackingError
from rlg.tracking.files import numbers, sync, to_json, write_atomically
from rlg.tracking.tensorboard import TensorBoardWriter

Row = dict[str, Any]


class EpisodeStats:
    """Returns and lengths of the newest episodes of all environments, as they ended."""

    def __init__(self, window: int = 100) -> None:
        if window < 1:
            raise TrackingError(f"EpisodeStats has window={window}; must be at least 1.")
        self.window = window
        self.episodes = 0  # ended so far, also outside of the window
        self._returns: deque[float] = deque(maxlen=window)
        self._lengths: deque[int] = deque(maxlen=window)

    def add(self, returns: ArrayLike, lengths: ArrayLike) -> None:
        """Takes the episodes that just ended: one number each, or vectors of equal length."""
        rewards = np.asarray(returns, np.float64).reshape(-1).tolist()
        steps = np.asarray(lengths, np.int64).reshape(-1).tolist()
        if len(rewards) != len(steps):
            raise TrackingError(
                f"EpisodeStats got {len(rewards)} returns and {len(steps)} lengths; pass one of "
                "each per episode."
            )
        self._returns.extend(rewards)
        self._lengths.extend(steps)
        self.episodes += len(rewards)

    def means(self) -> dict[str, float]:
        """Ready to be logged; empty before the first episode has ended."""
        if not self._returns:
            return {}
        return {
            "rollout/ep_rew_mean": sum(self._returns) / len(self._returns),
            "rollout/ep_len_mean": sum(self._lengths) / len(self._lengths),
        }

    def state(self) -> dict[str, Any]:
        """Plain JSON values for `restore`, which continues exactly."""
        return {
            "episodes": self.episodes,
            "returns": list(self._returns),
            "lengths": list(self._lengths),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._returns = deque(state["returns"], maxlen=self.window)
        self._lengths = deque(state["lengths"], maxlen=self.window)
        self.episodes = state["episodes"]


class MetricsLog:
    """The metrics of one run folder, by environment step.

    Files are opened for each line, so that there is nothing to close and open again around a
    rewrite. `progress.csv` has the step, then all tags in order; it is made anew when tags appear.
    """

    def __init__(self, folder: Path | str, *, tensorboard: bool = True) -> None:
        """Continues after the lines that are there; to resume, call `truncate_after` first."""
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._path = self.folder / "metrics.jsonl"
        self._table = self.folder / "progress.csv"
        self._columns: list[str] = []
        self._tensorboard = tensorboard
        self._purge_step: int | None = None
        self._writer: TensorBoardWriter | None = None
        self._path.touch()
        self._rewrite(list(_lines(self._path)))

    def log(self, step: int, values: Mapping[str, Any]) -> None:
        """Appends numbers under tags like `rollout/ep_rew_mean`, and hands them to the system."""
        if not values:
            return
        row: Row = {"step": int(step)}
        row.update((tag, _number(step, tag, value)) for tag, value in values.items())
        _append(self._path, to_json(row) + "\n")
        if set(row) <= set(self._columns):
            _append(self._table, self._csv([row]))
        else:
            self._rebuild_table()
        if self.events is not None:
            self.events.scalars(step, {tag: row[tag] for tag in values})

    @property
    def events(self) -> TensorBoardWriter | None:
        """For what is TensorBoard's only; None where it is switched off."""
        if self._writer is None and self._tensorboard:
            folder = _events_folder(self.folder.resolve())
            self._writer = TensorBoardWriter(folder, purge_step=self._purge_step)
        return self._writer

    def newest(self, tag: str) -> float | None:
        """The value of the last line that has the tag."""
        return next((row[tag] for row in reversed(read_metrics(self._path)) if tag in row), None)

    def truncate_after(self, step: int, again: str | None = None) -> None:
        """Drops what was logged after a checkpoint's step: a resumed run logs it again.

        `again`: the beginning of tags whose lines of this very step come again too.
        """
        self.close()
        self._purge_step = step + 1
        lines = _lines(self._path)
        self._rewrite([line for line in lines if _stays(json.loads(line), step, again)])

    def flush(self) -> None:
        """Brings everything to the disk: call it before a checkpoint is saved."""
        sync(self._path)
        sync(self._table)
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Ends the file of events; the next one begins another."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _rewrite(self, lines: list[str]) -> None:
        content = "".join(lines)
        if content.encode() != self._path.read_bytes():
            write_atomically(self._path, content)
        self._rebuild_table()

    def _rebuild_table(self) -> None:
        rows = read_metrics(self._path)
        tags = {tag for row in rows for tag in row} - {"step"}
        self._columns = ["step", *sorted(tags)]
        header = [dict(zip(self._columns, self._columns, strict=True))] if tags else []
        write_atomically(self._table, self._csv([*header, *rows]))

    def _csv(self, rows: Iterable[Row]) -> str:
        """Floats in full; nothing where a row has no value."""
        text = io.StringIO()
        csv.DictWriter(text, self._columns, lineterminator="\n").writerows(rows)
        return text.getvalue()


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(text)


def read_metrics(path: Path | str) -> list[Row]:
    """The lines of a `metrics.jsonl` with their numbers; a torn last line is left out."""
    return [numbers(json.loads(line)) for line in _lines(Path(path))]


def evaluations(path: Path, step: int) -> tuple[Row | None, Row | None]:
    """The last and the best evaluation up to a step, as a run's status notes them."""
    rows = read_metrics(path) if path.exists() else []
    notes = [
        {"step": row["step"], "mean_reward": row["eval/mean_reward"]}
        for row in rows
        if "eval/mean_reward" in row and row["step"] <= step
    ]
    best = None
    for note in notes:
        if is_better(note["mean_reward"], best):
            best = note
    return (notes[-1] if notes else None), best


def is_better(reward: float, best: Mapping[str, Any] | None) -> bool:
    """Whether a mean reward beats the best evaluation so far; not-a-number never does."""
    return not math.isnan(reward) and (best is None or not reward <= best["mean_reward"])


def _events_folder(run: Path) -> Path:
    """TensorBoard calls a run by its folder of events: `tb/12-00-00_dqn_cartpole_s0`."""
    known = sorted(path for path in (run / "tb").glob("*") if path.is_dir())
    # A job of a sweep is called by a number.
    name = run.name if not run.name.isdecimal() else f"{run.parent.name}_{run.name}"
    return known[0] if known else run / "tb" / name


def _lines(path: Path) -> Iterator[str]:
    """Whole lines only: a kill or a crash may leave half of one, or zeros."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if line.endswith("\n") and isinstance(row, dict) and "step" in row:
                yield line


def _stays(row: Row, step: int, again: str | None) -> bool:
    comes_again = again is not None and any(tag.startswith(again) for tag in row)
    return bool(row["step"] < step or (row["step"] == step and not comes_again))


def _number(step: int, tag: str, value: Any) -> int | float:
    if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
        value = value.item()
    if isinstance(value, int | float) and tag != "step":
        return int(value) if isinstance(value, int) else value
    reason = "the name is taken" if tag == "step" else f"it is a {type(value).__name__}"
    raise TrackingError(
        f"metric {tag!r} at step {step} can't be logged: {reason}. Log single numbers; arrays go "
        "to `histogram`."
    )
