"""What a picture consists of, and its colours in light and dark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]

# By role: (light, dark). Groups take Okabe and Ito's colours, which colour-blind people tell apart.
ROLES = {
    "page": ("#ffffff", "#14171c"),
    "text": ("#1f2328", "#e6e8eb"),
    "muted": ("#656d76", "#9aa3ad"),
    "grid": ("#e4e7eb", "#2a2f37"),
    "axis": ("#8c959f", "#6b7580"),
}
GROUPS = (
    ("#0072b2", "#4fb0e8"),
    ("#d55e00", "#ff8f4a"),
    ("#009e73", "#3fcf9f"),
    ("#aa4499", "#e08ad0"),
    ("#b8860b", "#e8bf4d"),
    ("#56768f", "#9fc0d8"),
    ("#8b4513", "#d29a6e"),
    ("#444444", "#c8c8c8"),
)
DASHES = ("", "7 4", "2 3")  # for the groups after the eighth


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points; `role` is a name of `ROLES`, or g0, g1... for groups."""

    points: tuple[Point, ...]
    role: str
    width: float = 1.0
    opacity: float = 1.0
    dash: str = ""


@dataclass(frozen=True, slots=True)
class Area:
    """A filled polygon."""

    points: tuple[Point, ...]
    role: str
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Dot:
    """A filled circle."""

    center: Point
    radius: float
    role: str
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text; its point is on the baseline."""

    at: Point
    text: str
    role: str = "text"
    size: float = 13.0
    anchor: Anchor = "start"
    bold: bool = False
    upright: bool = False  # read from below


Shape = Line | Area | Dot | Text


@dataclass(frozen=True, slots=True)
class Picture:
    """Shapes in the order in which they are painted, and where the curves are."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    plot: tuple[float, float, float, float]  # left, top, right, bottom
    x_range: tuple[float, float]
    y_range: tuple[float, float]


def role_of(group: int) -> str:
    return f"g{group % len(GROUPS)}"


def dash_of(group: int) -> str:
    return DASHES[group // len(GROUPS) % len(DASHES)]


def colour(role: str, *, dark: bool) -> str:
    pair = GROUPS[int(role[1:])] if role[1:].isdecimal() else ROLES[role]
    return pair[dark]
