"""Where everything in a picture of curves goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rlg.tracking.chart.curves import Curve, CurveGroup, Floats
from rlg.tracking.chart.shapes import Area, Dot, Line, Picture, Point, Shape, Text, dash_of, role_of
from rlg.tracking.chart.ticks import names, padded, ticks

WIDTH, PLOT_HEIGHT = 900.0, 380.0
LEFT, RIGHT, TOP, BOTTOM = 74.0, 28.0, 66.0, 56.0
LEGEND_ROW = 22.0
LABEL_LENGTH = 78  # letters of a legend's line


@dataclass(frozen=True, slots=True)
class Chart:
    """What to draw: groups of curves with the words around them."""

    title: str
    note: str
    x_label: str
    y_label: str
    groups: tuple[CurveGroup, ...]


class _Scale:
    def __init__(self, chart: Chart) -> None:
        curves = [curve for group in chart.groups for curve in group.curves]
        bands = [group.mean() for group in chart.groups]
        lowest = min(float(curve.y.min()) for curve in curves)
        low = min([lowest, *(float((m - s).min()) for x, m, s in bands if len(x))])
        highs = [float(curve.y.max()) for curve in curves]
        high = max(highs + [float((m + s).max()) for x, m, s in bands if len(x)])
        # A band that dips below zero of a metric that never does needs no room there.
        self.y = padded(low if lowest < 0 else max(low, 0.0), high)
        last = max(float(curve.x[-1]) for curve in curves)
        first = min(float(curve.x[0]) for curve in curves)
        self.x = (0.0, last) if first >= 0 and last > 0 else padded(first, last)
        self.left, self.top = LEFT, TOP
        self.right, self.bottom = WIDTH - RIGHT, TOP + PLOT_HEIGHT

    def at(self, x: float, y: float) -> Point:
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        up = min(1.0, max(0.0, up))
        return (
            round(self.left + across * (self.right - self.left), 2),
            round(self.bottom - up * (self.bottom - self.top), 2),
        )

    def points(self, x: Floats, y: Floats) -> tuple[Point, ...]:
        return tuple(self.at(float(a), float(b)) for a, b in zip(x, y, strict=True))


def draw(chart: Chart) -> Picture:
    """Bands below, single runs above them, means on top."""
    scale = _Scale(chart)
    shapes: list[Shape] = [*_frame(chart, scale)]
    for index, group in enumerate(chart.groups):
        shapes += _band(scale, group, index)
    for index, group in enumerate(chart.groups):
        shapes += _runs(scale, group, index)
    for index, group in enumerate(chart.groups):
        shapes += _mean(scale, group, index)
    legend_top = scale.bottom + BOTTOM
    shapes += _legend(chart.groups, legend_top)
    height = legend_top + LEGEND_ROW * len(chart.groups) + 14
    plot = (scale.left, scale.top, scale.right, scale.bottom)
    return Picture(WIDTH, height, tuple(shapes), plot, scale.x, scale.y)


def _frame(chart: Chart, scale: _Scale) -> list[Shape]:
    shapes: list[Shape] = [
        Text((LEFT, 28), chart.title, size=17, bold=True),
        Text((LEFT, 48), chart.note, role="muted", size=12.5),
    ]
    y_ticks = ticks(*scale.y)
    for value, name in zip(y_ticks, names(y_ticks), strict=True):
        x, y = scale.at(scale.x[0], value)
        shapes.append(Line(((x, y), (scale.right, y)), "grid"))
        shapes.append(Text((x - 9, y + 4.5), name, role="muted", anchor="end"))
    x_ticks = ticks(*scale.x, count=8)
    for value, name in zip(x_ticks, names(x_ticks), strict=True):
        x, _ = scale.at(value, scale.y[0])
        shapes.append(Line(((x, scale.bottom), (x, scale.bottom + 5)), "axis"))
        shapes.append(Text((x, scale.bottom + 20), name, role="muted", anchor="middle"))
    base = ((scale.left, scale.bottom), (scale.right, scale.bottom))
    middle = (scale.top + scale.bottom) / 2
    return [
        *shapes,
        Line(base, "axis"),
        Text(((LEFT + scale.right) / 2, scale.bottom + 41), chart.x_label, anchor="middle"),
        Text((20, middle), chart.y_label, anchor="middle", upright=True),
    ]


def _band(scale: _Scale, group: CurveGroup, index: int) -> list[Shape]:
    x, mean, spread = group.mean()
    if group.count < 2 or len(x) < 2:
        return []
    upper, lower = scale.points(x, mean + spread), scale.points(x, mean - spread)
    return [Area((*upper, *reversed(lower)), role_of(index), opacity=0.16)]


def _runs(scale: _Scale, group: CurveGroup, index: int) -> list[Shape]:
    if group.count < 2:
        return []
    return [shape for curve in group.curves for shape in _run(scale, curve, index)]


def _run(scale: _Scale, curve: Curve, index: int) -> list[Shape]:
    points = scale.points(curve.x, curve.y)
    if len(points) == 1:
        return [Dot(points[0], 2.5, role_of(index), opacity=0.5)]
    return [Line(points, role_of(index), width=1.1, opacity=0.5, dash=dash_of(index))]


def _mean(scale: _Scale, group: CurveGroup, index: int) -> list[Shape]:
    x, mean, _ = group.mean()
    points = scale.points(x, mean)
    role = role_of(index)
    few = [Dot(point, 3.2, role) for point in points] if len(points) <= 30 else []
    line = [Line(points, role, width=2.4, dash=dash_of(index))] if len(points) > 1 else []
    return [*line, *few]


def _legend(groups: Sequence[CurveGroup], top: float) -> list[Shape]:
    shapes: list[Shape] = []
    for index, group in enumerate(groups):
        y = top + LEGEND_ROW * (index + 0.6)
        label = (
            group.label if len(group.label) <= LABEL_LENGTH else f"{group.label[:LABEL_LENGTH]}..."
        )
        line = ((LEFT, y - 4.5), (LEFT + 26, y - 4.5))
        shapes.append(Line(line, role_of(index), width=3, dash=dash_of(index)))
        shapes.append(Text((LEFT + 36, y), label))
        shapes.append(Text((WIDTH - RIGHT, y), figures(group), role="muted", anchor="end"))
    return shapes


def figures(group: CurveGroup) -> str:
    """The last values of a group, in words: `last 487.5 ± 12.0, 3 seeds`."""
    mean, std = group.last()
    spread = "" if std is None else f" ± {short(std, mean)}"
    what = "seed" if group.has_distinct_seeds else "run"
    count = f"{group.count} {what}{'' if group.count == 1 else 's'}"
    return f"last {short(mean)}{spread}, {count}"


def short(value: float, beside: float | None = None) -> str:
    """Three digits or more; a spread gets as many decimals as the mean beside it."""
    size = abs(value if beside is None else beside)
    return f"{value:,.1f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.3g}"


def hover_data(chart: Chart) -> list[dict[str, object]]:
    """Means and spreads of the groups, for pages that show them under the pointer."""
    found: list[dict[str, object]] = []
    for index, group in enumerate(chart.groups):
        x, mean, spread = group.mean()
        found.append(
            {
                "label": group.label,
                "role": role_of(index),
                "n": group.count,
                "x": np.round(x, 3).tolist(),
                "mean": np.round(mean, 4).tolist(),
                "std": np.round(spread, 4).tolist(),
            }
        )
    return found
