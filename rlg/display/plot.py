"""Learning curves as a picture, drawn by matplotlib: means with bands, and single runs beside them.

matplotlib is imported when a picture is drawn, and without `pyplot`: no window, no global state.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

from rlg.display.curves import COLUMNS, CurveGroup, common
from rlg.display.readable import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf", ".html")
AXES = {"steps": "environment steps", "frames": "frames", "time": "seconds of training"}
TIMES = ((2 * 3600.0, 3600.0, "hours"), (120.0, 60.0, "minutes"))  # from, unit, name
# Okabe and Ito's colours, which colour-blind people tell apart, and styles for when they run out.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8b4513", "#444444")
STYLES = ("-", "--", ":")
WIDTH, HEIGHT, ROW, DPI = 9.0, 4.6, 0.24, 200  # inches, inches of a legend's row, dots per inch
FEW = 30  # points that get a marker each
LABEL = 90  # letters of a legend's row


@dataclass(frozen=True, slots=True)
class Chart:
    """Groups of curves, and what they show."""

    groups: tuple[CurveGroup, ...]
    metric: str
    axis: str = "steps"
    smooth: int = 1

    @property
    def title(self) -> str:
        """What all runs have in common."""
        shared = common([curve for group in self.groups for curve in group.curves])
        return f"{shared}: {self.metric}" if shared else self.metric

    @property
    def note(self) -> str:
        parts = []
        if any(group.count > 1 for group in self.groups):
            over = "seeds" if all(group.has_distinct_seeds for group in self.groups) else "runs"
            parts.append(f"thick: mean over {over}, band: ± standard deviation, thin: single runs")
        if self.smooth > 1:
            parts.append(f"each run smoothed over {self.smooth} points")
        return "; ".join(parts)


def draw(chart: Chart) -> Figure:
    """The picture, to be saved or looked into."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    unit, label = _unit(chart)
    figure = Figure((WIDTH, HEIGHT + ROW * len(chart.groups)), layout="constrained")
    axes = figure.add_subplot()
    for index, group in enumerate(chart.groups):
        curves = [replace(c.smoothed(chart.smooth), x=c.x / unit) for c in group.curves]
        drawn = replace(group, curves=tuple(curves))
        label_of = f"{shorten(group.label, LABEL, placeholder='...')}   ({figures(group)})"
        _draw_group(axes, drawn, COLOURS[index % 8], STYLES[index // 8 % 3], label_of)
    axes.set_title(chart.title, loc="left", weight="bold", pad=22 if chart.note else 8)
    if chart.note:
        axes.text(0, 1.015, chart.note, transform=axes.transAxes, fontsize=9, color="#656d76")
    axes.set_xlabel(label)
    axes.set_ylabel(chart.metric)
    if chart.axis != "time":
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlim(left=0)
    lowest = min(float(curve.y.min()) for group in chart.groups for curve in group.curves)
    if lowest >= 0 > axes.get_ylim()[0]:
        axes.set_ylim(bottom=0)  # a band below zero of a metric that never is needs no room
    axes.grid(color="#e4e7eb")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower left", frameon=False, fontsize=9)
    return figure


def _draw_group(axes: Axes, group: CurveGroup, colour: str, style: str, label: str) -> None:
    for curve in group.curves if group.count > 1 else ():
        marker = "o" if len(curve.x) == 1 else None
        axes.plot(curve.x, curve.y, style, color=colour, lw=0.9, alpha=0.45, marker=marker, ms=4)
    x, mean, spread = group.mean()
    if group.count > 1:
        axes.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.15, lw=0)
    axes.plot(
        *(x, mean, style),
        color=colour,
        lw=2.2,
        marker="o" if len(x) <= FEW else None,
        ms=4,
        label=label,
    )


def _unit(chart: Chart) -> tuple[float, str]:
    """What x is divided by, and its label: times are in the unit that suits the longest run."""
    longest = max(float(curve.x[-1]) for group in chart.groups for curve in group.curves)
    if chart.axis == "time":
        for least, unit, name in TIMES:
            if longest >= least:
                return unit, f"{name} of training"
    return 1.0, AXES[chart.axis]


def figures(group: CurveGroup) -> str:
    """The last values of a group, in words: `last 487.5 ± 12.0, 3 seeds`."""
    mean, std = group.last()
    spread = "" if std is None else f" ± {short(std, mean)}"
    what = "seed" if group.has_distinct_seeds else "run"
    return f"last {short(mean, mean)}{spread}, {counted(group.count, what)}"


def short(value: float, beside: float) -> str:
    """Three digits or more; a spread gets as many decimals as the mean beside it."""
    size = abs(beside)
    return f"{value:,.1f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.3g}"


def write_plot(chart: Chart, path: Path) -> None:
    """Writes a picture; its format is that of the name: one of FORMATS."""
    if path.suffix == ".html":
        path.write_text(_page(chart), encoding="utf-8")
    else:
        path.write_bytes(_picture(chart, path.suffix[1:]))


def _picture(chart: Chart, kind: str) -> bytes:
    import matplotlib as mpl

    file = io.BytesIO()
    # Letters stay letters in SVG, so that they can be searched and edited.
    with mpl.rc_context({"svg.fonttype": "none"}):
        draw(chart).savefig(file, format=kind, dpi=DPI)
    return file.getvalue()


def _page(chart: Chart) -> str:
    """The same picture with a table of its figures, in one file that needs nothing else."""
    picture = base64.b64encode(_picture(chart, "png")).decode()
    cells = [[f"<td>{escape(cell)}</td>" for cell in group.cells(short)] for group in chart.groups]
    rows = ["".join(row) for row in ([f"<th>{name}</th>" for name in ("group", *COLUMNS)], *cells)]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(chart.title)}</title>\n<style>body{{font:14px system-ui,sans-serif;"
        "max-width:960px;margin:16px auto}img{width:100%}table{border-collapse:collapse}"
        "th,td{padding:5px 16px 5px 0;text-align:left}</style></head>\n"
        f'<body><img alt="{escape(chart.title)}" src="data:image/png;base64,{picture}">\n'
        "<table>" + "\n".join(f"<tr>{row}</tr>" for row in rows) + "\n</table></body></html>\n"
    )
