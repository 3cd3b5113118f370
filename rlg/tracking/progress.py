"""Progress for people: a plain line every few seconds, or a live line in a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Protocol, TextIO

from rlg.tracking.meter import Meter

Clock = Callable[[], float]


class Progress(Protocol):
    """What a training loop tells; counts are totals since the start of the run."""

    def update(self, step: int, *, updates: int = 0, reward: float | None = None) -> None:
        """Takes the newest counts; shows them when it is time to."""

    def close(self) -> None:
        """Shows the last counts and leaves the terminal as it was."""


class PlainProgress:
    """One line of plain text at a time, for logs and pipes."""

    def __init__(
        self,
        total: int,
        *,
        step: int = 0,
        updates: int = 0,
        every_seconds: float = 5.0,
        every_steps: int | None = None,
        stream: TextIO | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        """Starts to measure.

        Args:
            step, updates: where a resumed run starts.
            every_seconds, every_steps: whichever comes first.
        """
        self._meter = Meter(total, step, updates, clock)
        self._every_seconds, self._every_steps = every_seconds, every_steps
        self._stream: TextIO | None = sys.stderr if stream is None else stream

    def update(self, step: int, *, updates: int = 0, reward: float | None = None) -> None:
        self._meter.update(step, updates, reward)
        if self._meter.is_due(self._every_seconds, self._every_steps):
            self._show()

    def close(self) -> None:
        if self._meter.has_news:
            self._show()

    def _show(self) -> None:
        line = self._meter.line()
        if self._stream is None:
            return
        try:
            self._stream.write(f"{line}\n")
            self._stream.flush()
        except (OSError, ValueError):  # nobody listens any more: training goes on
            self._stream = None


class RichProgress:
    """One live line with a bar; needs a terminal."""

    def __init__(
        self,
        total: int,
        *,
        step: int = 0,
        updates: int = 0,
        every_seconds: float = 0.5,
        stream: TextIO | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        self._meter = Meter(total, step, updates, clock)
        self._every_seconds = every_seconds
        self._bars = Bars(
            BarColumn(bar_width=20),
            TextColumn("{task.description}", markup=False),
            console=Console(file=stream) if stream is not None else Console(stderr=True),
            auto_refresh=False,
            get_time=clock,
        )
        self._task = self._bars.add_task("", total=total, completed=step)
        self._bars.start()

    def update(self, step: int, *, updates: int = 0, reward: float | None = None) -> None:
        self._meter.update(step, updates, reward)
        if self._meter.is_due(self._every_seconds, None):
            self._show()

    def close(self) -> None:
        if self._meter.has_news:
            self._show()
        self._bars.stop()

    def _show(self) -> None:
        step, line = self._meter.step, self._meter.line()
        self._bars.update(self._task, completed=step, description=line, refresh=True)


def make_progress(
    total: int, *, step: int = 0, updates: int = 0, stream: TextIO | None = None
) -> Progress:
    """A live line in a terminal, plain lines elsewhere."""
    target = sys.stderr if stream is None else stream
    kind = RichProgress if target.isatty() else PlainProgress
    return kind(total, step=step, updates=updates, stream=target)
