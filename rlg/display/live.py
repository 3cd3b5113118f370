"""A panel in a terminal that is drawn again in place a few times a second.

No thread: the training loop calls, and drawing takes at most a fiftieth of its time.
"""

from __future__ import annotations

import sys
import time
from typing import TextIO

from rich.console import Console
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType, SegmentLines

from rlg.display.figures import Clock, Meter, Read, Title
from rlg.display.panel import WIDEST, Sparkline, draw

FASTEST = 0.25  # seconds between frames
DRAWING_SHARE = 0.02  # of the time
WINDOW = 10.0  # seconds that rates are means of


class _Console(Console):
    """One that says when its terminal is gone; rich's own would end the process."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class LiveProgress:
    """Draws the figures when they are due; erases itself at the end."""

    def __init__(
        self,
        read: Read,
        title: Title,
        *,
        stream: TextIO | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.frames = 0
        self._read = read
        self._title = title
        self._clock = clock
        self._meter = Meter(read(), clock, WINDOW)
        self._history = Sparkline()
        self._phase = ""
        self._due = clock()
        self._console = _Console(file=stream) if stream is not None else _Console(stderr=True)
        self._live: Live | None = Live(
            console=self._console,
            auto_refresh=False,
            transient=True,
            vertical_overflow="crop",
            # What environments print appears above the panel.
            redirect_stdout=sys.stdout.isatty(),
        )
        self._drawn = (0, 0)  # rows and columns of the last frame
        self._live.start()

    def tick(self) -> None:
        if self._clock() >= self._due:
            self._show()

    def say(self, phase: str) -> None:
        is_new, self._phase = phase != self._phase, phase
        if is_new and phase:
            self.tick()

    def close(self) -> None:
        live, self._live = self._live, None
        if live is None:
            return
        try:
            self._erase_wrapped_rows()
            live.stop()
        except (OSError, ValueError):
            pass

    def _show(self) -> None:
        started = self._clock()
        if self._live is None:
            return
        figures = self._read()
        self._history.add(figures.reward)
        panel = draw(
            self._console, self._title, self._meter.read(figures), self._history, self._phase
        )
        lines = self._console.render_lines(panel, pad=False)
        try:
            self._erase_wrapped_rows()
            # The cursor waits in a row of its own, where the ^C of a terminal does no harm.
            self._live.update(SegmentLines([*lines, []], new_lines=True), refresh=True)
            self._drawn = (len(lines), min(self._console.width, WIDEST))
        except (OSError, ValueError):  # the terminal is gone: training continues
            self._live = None
        self.frames += 1
        cost = self._clock() - started
        self._due = started + max(FASTEST, cost / DRAWING_SHARE)

    def _erase_wrapped_rows(self) -> None:
        """A terminal that became narrower has folded each row of the last frame into several."""
        width = self._console.width
        folds = -(-self._drawn[1] // width) - 1
        if folds > 0:
            up = (ControlType.CURSOR_UP, 1)
            erase = (ControlType.ERASE_IN_LINE, 2)
            self._console.control(Control(*[erase, up] * (folds * self._drawn[0])))
