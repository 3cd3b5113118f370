"""Ratios with their spreads as pictures, one per suite.

matplotlib is imported when a picture is drawn, and without `pyplot`: no window, no global state.
"""

from __future__ import annotations

from pathlib import Path

from rlg.bench.results import Row, Suite

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
UNITS = {
    "ratio": (1.0, "time of rlg / time of the opponent"),
    "difference": (1e3, "ms over by hand"),
}


def draw(suite: Suite, folder: Path) -> list[Path]:
    """Writes a PNG for each kind of comparison that the suite has."""
    found = []
    for kind in ("ratio", "difference"):
        rows = [row for row in suite.rows if row.kind == kind and row.costs]
        if rows:
            path = folder / (f"{suite.name}.png" if kind == "ratio" else f"{suite.name}-ms.png")
            _draw(f"{suite.name}: {suite.title}", kind, rows, path)
            found.append(path)
    return found


def _draw(title: str, kind: str, rows: list[Row], path: Path) -> None:
    from matplotlib.figure import Figure

    scale, label = UNITS[kind]
    figure = Figure((9.0, 1.2 + 0.32 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    contenders = list(dict.fromkeys((row.ours, row.opponent) for row in rows))
    for place, row in enumerate(rows):
        low, middle, high = (scale * value for value in row.compared())
        index = contenders.index((row.ours, row.opponent))
        colour = COLOURS[index % len(COLOURS)]
        axes.plot([low, high], [place, place], color=colour, lw=4, alpha=0.4, solid_capstyle="butt")
        axes.plot([middle], [place], "o", color=colour, ms=6)
        axes.annotate(
            f"{middle:.2f}" if kind == "ratio" else f"{middle:.1f}",
            (high, place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.axvline(1.0 if kind == "ratio" else 0.0, color="#656d76", lw=1)
    labels = [f"{row.case}: {row.ours} / {row.opponent}" for row in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel(f"{label} (median, bar: spread)")
    axes.set_title(title, loc="left", weight="bold")
    axes.margins(x=0.12)
    axes.grid(axis="x", color="#e4e7eb")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
