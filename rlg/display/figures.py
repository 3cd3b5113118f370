"""Figures of a run at one moment, and rates between two moments.

Loops fill figures in when they are asked to, not in every step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rlg.display import readable

Clock = Callable[[], float]
Evaluated = tuple[int, float]  # step, mean reward


@dataclass(frozen=True, slots=True)
class Title:
    """Which run it is."""

    agent: str = ""
    env: str = ""
    backend: str = ""
    seed: int = 0
    folder: str = ""


@dataclass(frozen=True, slots=True)
class MemoryFill:
    """How full a replay memory is; `nbytes` is what it has taken for all its records."""

    records: int
    capacity: int
    nbytes: int

    @property
    def percent(self) -> int:
        return 100 * self.records // self.capacity if self.capacity else 0

    @property
    def text(self) -> str:
        return f"{readable.count(self.records)}, {self.percent}% of {readable.size(self.nbytes)}"


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts are totals since the start of the run, in environment steps; None is not known."""

    steps: int
    total: int
    updates: int = 0
    episodes: int = 0
    reward: float | None = None  # mean of the newest episodes
    length: float | None = None
    last_evaluation: Evaluated | None = None
    best_evaluation: Evaluated | None = None
    frames_per_step: int = 1
    replay_ratio: float | None = None  # samples trained per sample collected
    memory: MemoryFill | None = None
    epsilon: float | None = None
    loss: float | None = None
    # By name of the worker; `steps` gets a rate beside it, all else is shown as it is.
    workers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def percent(self) -> int:
        return min(100, 100 * self.steps // self.total) if self.total else 100


Read = Callable[[], Figures]


@dataclass(frozen=True, slots=True)
class Reading:
    """Figures, and the earlier ones that rates count from, with the seconds in between."""

    figures: Figures
    before: Figures
    seconds: float
    elapsed: float  # since the start
    left: float | None

    def rate(self, now: float, before: float) -> float | None:
        return (now - before) / self.seconds if self.seconds > 0 else None

    @property
    def steps_rate(self) -> float | None:
        return self.rate(self.figures.steps, self.before.steps)

    def pairs(self) -> list[tuple[str, str]]:
        """Names and values of everything that is known, in the order of reading."""
        known = self.figures
        frames, rate = known.frames_per_step, self.steps_rate
        updates_rate = self.rate(known.updates, self.before.updates)
        found = [
            ("reward", _decimal(known.reward)),
            ("length", _decimal(known.length)),
            ("last eval", _evaluated(known.last_evaluation)),
            ("best eval", _evaluated(known.best_evaluation)),
            ("steps/s", readable.rate(rate)),
            ("updates/s", readable.rate(updates_rate)),
            ("frames/s", readable.rate(rate and rate * frames) if frames > 1 else None),
            ("replay ratio", None if known.replay_ratio is None else f"{known.replay_ratio:.2f}"),
            ("memory", None if known.memory is None else known.memory.text),
            ("epsilon", None if known.epsilon is None else f"{known.epsilon:.3f}"),
            ("loss", None if known.loss is None else f"{known.loss:.3g}"),
            ("episodes", readable.count(known.episodes) if known.episodes else None),
        ]
        return [(name, value) for name, value in found if value is not None]

    def workers(self) -> dict[str, dict[str, str]]:
        """The figures of each worker, with a rate beside its steps."""
        found: dict[str, dict[str, str]] = {}
        for name, figures in self.figures.workers.items():
            found[name] = cells = {}
            for key, value in figures.items():
                whole = isinstance(value, int)
                cells[key] = readable.count(int(value)) if whole else f"{value:.4g}"
                if key == "steps":
                    before = self.before.workers.get(name, {}).get("steps", 0)
                    cells["steps/s"] = readable.rate(self.rate(value, before))
        return found

    def line(self) -> str:
        """Everything in one line of plain text."""
        known = self.figures
        words = [f"step {known.steps:,}/{known.total:,} ({known.percent}%)"]
        words += [f"{name} {value}" for name, value in self.pairs()]
        words.append(f"elapsed {readable.duration(self.elapsed)}")
        words.append(f"ETA {readable.duration(self.left)}")
        return "  ".join(words)


class Meter:
    """Rates are those of the last `window` seconds; the time left goes by the mean of the run."""

    def __init__(self, first: Figures, clock: Clock, window: float = 0.0) -> None:
        self._clock = clock
        self._window = window
        self._first = (clock(), first)
        self._seen = deque([self._first])

    def read(self, figures: Figures) -> Reading:
        """What to show now; later rates count from here, or from as far back as the window."""
        now = self._clock()
        while len(self._seen) > 1 and now - self._seen[1][0] >= self._window:
            self._seen.popleft()
        since, before = self._seen[0]
        self._seen.append((now, figures))
        started, first = self._first
        elapsed, done = now - started, figures.steps - first.steps
        remaining = max(0, figures.total - figures.steps)
        left = 0.0 if not remaining else remaining * elapsed / done if done > 0 else None
        return Reading(figures, before, now - since, elapsed, left)


def _decimal(number: float | None) -> str | None:
    return None if number is None else f"{number:.1f}"


def _evaluated(evaluation: Evaluated | None) -> str | None:
    if evaluation is None:
        return None
    return f"{evaluation[1]:.1f} at {readable.count(evaluation[0])}"
