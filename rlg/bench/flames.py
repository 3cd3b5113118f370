"""Times as a picture: whoever is part of another stands below it, as wide as its share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rlg.bench.pictures import COLOURS
from rlg.bench.times import REST, Times

LEAST = 0.002  # share of what is drawn
LABELLED = 0.03


def draw(times: Times, title: str, path: Path) -> Path:
    """Writes a PNG."""
    from matplotlib.figure import Figure

    shown = [d for d, part in times.walk() if part.seconds > LEAST * times.seconds]
    figure = Figure((12.0, 1.4 + 0.42 * (2 + max(shown, default=0))), layout="constrained")
    axes = figure.add_subplot()
    _bar(axes, 0.0, times.seconds, 0, "#d0d7de", "run", times.seconds)
    for index, (left, stage) in enumerate(_places(times, 0.0)):
        colour = "#d0d7de" if stage.name == REST else COLOURS[index % len(COLOURS)]
        _bars(axes, stage, left, 1, colour, times.seconds)
    axes.set_xlim(0, times.seconds)
    axes.invert_yaxis()
    axes.set_yticks([])
    ticks = [share * times.seconds for share in (0, 0.25, 0.5, 0.75, 1)]
    axes.set_xticks(ticks, ["0%", "25%", "50%", "75%", "100%"])
    axes.set_title(title, loc="left", fontsize=10)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.savefig(path, dpi=130)
    return path


def _places(times: Times, left: float) -> list[tuple[float, Times]]:
    found = []
    for part in times.ordered():
        found.append((left, part))
        left += part.seconds
    return found


def _bars(axes: Any, times: Times, left: float, row: int, colour: str, whole: float) -> None:
    if times.seconds <= LEAST * whole:
        return
    _bar(axes, left, times.seconds, row, colour, times.name, whole)
    for start, part in _places(times, left):
        _bars(axes, part, start, row + 1, "#d0d7de" if part.name == REST else colour, whole)


def _bar(
    axes: Any, left: float, width: float, row: int, colour: str, name: str, whole: float
) -> None:
    alpha = max(0.35, 0.85 - 0.1 * row)
    axes.barh(row, width, left=left, height=0.92, color=colour, alpha=alpha, edgecolor="white")
    share = width / whole
    if share >= LABELLED:
        room = int(130 * share)
        text = f"{name} {share:.0%}"
        text = text if len(text) <= room else name[:room]
        axes.text(left + width / 2, row, text, ha="center", va="center", fontsize=8, clip_on=True)
