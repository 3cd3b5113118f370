"""A panel in a terminal that is drawn again in place a few times a second, whatever its size.

No thread: the training loop calls, and drawing takes at most a fiftieth of its time. The most
important comes first: low terminals drop the workers and the reward history, narrow ones the second
column of figures.
"""

from __future__ import annotations

import math
import sys
import time
from typing import TextIO

import numpy as np
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.control import Control
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.segment import ControlType, SegmentLines
from rich.table import Table
from rich.text import Text

from rlg.display import readable
from rlg.display.figures import Clock, Meter, Read, Reading, Title

FASTEST = 0.25  # seconds between frames
DRAWING_SHARE = 0.02  # of the time
WINDOW = 10.0  # seconds that rates are means of
HINT = "Ctrl-C saves and stops"
WIDEST = 100
_TWO_COLUMNS_FROM = 72  # columns
_FRAME = 4  # columns of border and padding
_SHORTEST_BAR = 6  # columns
_BORDER = 2  # rows
_BARS = "▁▂▃▄▅▆▇█"


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


def draw(
    console: Console, title: Title, reading: Reading, history: Sparkline, phase: str = ""
) -> RenderableType:
    """The panel for this console, as wide and high as it is now."""
    options, width = console.options, min(console.width, WIDEST)
    inner = options.update(width=width - _FRAME)
    # One row stays free: a terminal that is full would scroll with every frame.
    rows = console.height - 1 - _BORDER
    parts: list[RenderableType] = [_progress(reading, inner.max_width), _figures(reading, width)]
    if title.folder and rows > 9:
        text = _end_of(title.folder, inner.max_width, options)
        parts.insert(1, Text(text, style="dim", no_wrap=True))
    if not options.ascii_only and len(history.means) > 1:
        parts.append(_course(history, inner.max_width))
    used = len(console.render_lines(Group(*parts), inner))
    if rows - used >= 3:
        parts.append(_workers(reading, rows - used - 1))
        used = len(console.render_lines(Group(*parts), inner))
    return Panel(
        Group(*parts),
        title=_title(title, phase, options),
        title_align="left",
        subtitle=Text(HINT, style="dim"),
        subtitle_align="left",
        width=width,
        height=_BORDER + min(rows, used),  # the least important comes last, and is cut off
        border_style="cyan",
    )


def _title(title: Title, phase: str, options: ConsoleOptions) -> Text:
    dot = " - " if options.ascii_only else " · "
    words = [f"{title.agent} on {title.env}", title.backend, f"seed {title.seed}"]
    text = Text(dot.join(word for word in words if word), style="bold")
    return text.append(f"{dot}{phase}", style="yellow") if phase else text


def _progress(reading: Reading, width: int) -> Table:
    """The bar, and beside it how far the run is and how long it takes."""
    known = reading.figures
    percent = f"{known.percent}%"
    steps = f"{readable.count(known.steps)}/{readable.count(known.total)}"
    left = f"{readable.duration(reading.left)} left"
    times = f"{readable.duration(reading.elapsed)} elapsed, {left}"
    # As much as leaves room for a bar.
    for words in ([percent, steps, times], [percent, steps, left], [percent, left], [percent]):
        room = width - sum(len(word) + 1 for word in words)
        if room >= _SHORTEST_BAR:
            break
    table = Table.grid(padding=(0, 1))
    for _ in range(1 + len(words)):
        table.add_column(no_wrap=True)
    bar = ProgressBar(
        total=max(1, known.total), completed=known.steps, width=max(room, _SHORTEST_BAR)
    )
    table.add_row(bar, Text(words[0], style="bold"), *(Text(w, style="dim") for w in words[1:]))
    return table


def _figures(reading: Reading, width: int) -> Table:
    """Names and values in two columns, or in one."""
    pairs = reading.pairs()
    columns = 2 if width >= _TWO_COLUMNS_FROM else 1
    table = Table.grid(padding=(0, 2), expand=True)
    for _ in range(columns):
        table.add_column(style="dim", no_wrap=True, width=max(len(name) for name, _ in pairs))
        table.add_column(no_wrap=True, ratio=1)
    for start in range(0, len(pairs), columns):
        table.add_row(*(cell for pair in pairs[start : start + columns] for cell in pair))
    return table


def _course(history: Sparkline, width: int) -> Text:
    means = history.means
    low, high = f"{min(means):.1f} ", f" {max(means):.1f}"
    name = "reward so far  "
    bars = history.bars(max(1, width - len(name) - len(low) - len(high)))
    return Text.assemble((name, "dim"), low, (bars, "green"), high, no_wrap=True)


def _workers(reading: Reading, rows: int) -> Table:
    workers = reading.workers()
    names = list(dict.fromkeys(name for cells in workers.values() for name in cells))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("worker", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    shown = list(workers)[: rows if len(workers) <= rows else rows - 1]
    for worker in shown:
        table.add_row(worker, *(workers[worker].get(name, readable.NONE) for name in names))
    if len(shown) < len(workers):
        table.add_row(f"+ {len(workers) - len(shown)} more")
    return table


def _end_of(text: str, width: int, options: ConsoleOptions) -> str:
    """The end of a path says more than its beginning."""
    if len(text) <= width:
        return text
    dots = "..." if options.ascii_only else "…"
    return dots + text[len(dots) - width :]


class Sparkline:
    """Keeps at most `most` means over equally many values each: when full, pairs become one."""

    def __init__(self, most: int = 128) -> None:
        self._most = most - most % 2
        self._share = 1  # values in each mean
        self._means: list[float] = []
        self._rest: list[float] = []

    def add(self, value: float | None) -> None:
        if value is None or not math.isfinite(value):
            return
        self._rest.append(value)
        if len(self._rest) < self._share:
            return
        self._means.append(sum(self._rest) / self._share)
        self._rest.clear()
        if len(self._means) == self._most:
            pairs = zip(self._means[::2], self._means[1::2], strict=True)
            self._means = [(a + b) / 2 for a, b in pairs]
            self._share *= 2

    @property
    def means(self) -> list[float]:
        return list(self._means)

    def bars(self, width: int) -> str:
        """One character for each of `width` columns, from the lowest to the highest mean."""
        if not self._means:
            return ""
        parts = np.array_split(self._means, min(width, len(self._means)))
        means = np.array([part.mean() for part in parts])
        heights = (means - means.min()) / (np.ptp(means) or 1.0)
        return "".join(_BARS[round(height * (len(_BARS) - 1))] for height in heights)
