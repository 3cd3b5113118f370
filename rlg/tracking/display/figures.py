"""What there is to show of a run at one moment. Loops fill it in when asked, not in every step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

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
    trained: float | None = None  # samples trained per sample collected
    memory: MemoryFill | None = None
    epsilon: float | None = None
    loss: float | None = None
    # By name of the worker; `steps` gets a rate beside it, all else is shown as it is.
    workers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def percent(self) -> int:
        return min(100, 100 * self.steps // self.total) if self.total else 100


Read = Callable[[], Figures]
