"""Progress for people: a live panel in a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from typing import Protocol, TextIO

from rlg.display.figures import Clock, Meter, Read, Title
from rlg.tracking.log import RunLog

MAIN_PROCESS = "MainProcess"
Stream = TextIO | RunLog
NOTED = 60.0  # seconds between lines in a run's log


class Progress(Protocol):
    """What a training loop calls; figures are read only when there is something to show."""

    def tick(self) -> None:
        """After each iteration: shows the figures if it is time to."""

    def say(self, phase: str) -> None:
        """Before something that takes longer: the current phase; "" for training."""

    def close(self) -> None:
        """Leaves the terminal as it was."""


class PlainProgress:
    """One line of plain text at a time, for logs and pipes."""

    def __init__(
        self,
        read: Read,
        *,
        every_seconds: float = 5.0,
        stream: Stream | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._read = read
        self._clock = clock
        self._every = every_seconds
        self._stream: Stream | None = sys.stderr if stream is None else stream
        first = read()
        self._meter = Meter(first, clock)
        self._shown_at = (first.steps, first.updates)
        self._due = clock() + every_seconds

    def tick(self) -> None:
        if self._clock() >= self._due:
            self._show()

    def say(self, phase: str) -> None:
        """Lines are written while training only."""

    def close(self) -> None:
        figures = self._read()
        if (figures.steps, figures.updates) != self._shown_at:
            self._show()

    def _show(self) -> None:
        self._due = self._clock() + self._every
        if self._stream is None:
            return
        figures = self._read()
        self._shown_at = (figures.steps, figures.updates)
        try:
            self._stream.write(f"{self._meter.read(figures).line()}\n")
            self._stream.flush()
        except (OSError, ValueError):  # the reader is gone: training continues
            self._stream = None


class LoggedProgress:
    """Progress that is shown, and noted in a run's log now and then."""

    def __init__(self, shown: Progress, noted: Progress) -> None:
        self._shown, self._noted = shown, noted

    def tick(self) -> None:
        self._shown.tick()
        self._noted.tick()

    def say(self, phase: str) -> None:
        self._shown.say(phase)

    def close(self) -> None:
        self._shown.close()
        self._noted.close()


def make_progress(
    read: Read, title: Title, *, stream: TextIO | None = None, log: RunLog | None = None
) -> Progress:
    """A live panel in a terminal, plain lines elsewhere; now and then a line in the run's log."""
    target = sys.stderr if stream is None else stream
    shown: Progress
    if can_be_drawn_on(target):
        from rlg.display.live import LiveProgress

        shown = LiveProgress(read, title, stream=target)
    else:
        shown = PlainProgress(read, stream=target)
    if log is None:
        return shown
    return LoggedProgress(shown, PlainProgress(read, every_seconds=NOTED, stream=log))


def can_be_drawn_on(stream: TextIO) -> bool:
    """A terminal that can move its cursor, and that no other job of a sweep draws on."""
    is_capable = os.environ.get("TERM", "").lower() not in ("", "dumb", "unknown")
    return stream.isatty() and is_capable and multiprocessing.current_process().name == MAIN_PROCESS
