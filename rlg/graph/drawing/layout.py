"""Where everything of an SVG stands: nested boxes, and arrows that run in lanes between them.

A box has a header with a pill for each API method, then rows of the components inside as they are
called, left to right, a gutter above each row. An arrow leaves the calling pill downwards, runs
along a lane of a gutter and drops onto the called pill; to lower rows it goes by the left margin,
through other headers in a slot of its own. So arrows cross no text.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from typing import TypeAlias

from rlg.graph.drawing.picture import Arrow, Picture, Scope

# All arrows of one calling method have the same key, and share lanes and slots.
Key: TypeAlias = tuple[str, str]
Point: TypeAlias = tuple[float, float]
End: TypeAlias = "tuple[Frame, Slot]"

FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
ADVANCE = 0.61  # of a character, by font size; 0.602 in the widest of these fonts
NAME, KIND, PILL, SMALL = 12.0, 9.5, 10.0, 9.0
HEAD, PILL_TOP, PILL_HEIGHT = 38.0, 10.0, 18.0
PAD, GAP, LANE, LINE, ROUND = 12.0, 14.0, 7.0, 11.0, 6.0
INSET, STEP = 10.0, 8.0  # of arrows on a slot: from its left end, and from each other
# Rows don't wrap below this width; texts and lists are cut at these lengths.
ROW, CHARACTERS, VARIABLES, LABELS = 1000.0, 36, 6, 4
INK, FAINT = "#263238", "#607d8b"
LINES = ("#455a64", "#1565c0", "#c2185b", "#2e7d32", "#8e24aa", "#e65100", "#00838f", "#6d4c41")


class Side:
    """Where arrows meet a slot: above it from outside of the box, below it from inside."""

    def __init__(self) -> None:
        self.xs: dict[Key, float] = {}
        self.labels: list[tuple[str, str]] = []

    def label_x(self) -> float:
        return max(self.xs.values(), default=0.0) + 5

    def width(self) -> float:
        return self.label_x() + text_width(SMALL, *(text for text, _ in self.labels))


class Oval:
    """Lines of text in an ellipse; the arrow at it counts as part of its height."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self.lines = list(lines)
        self.width = math.sqrt(2) * (text_width(SMALL, *self.lines) + 6) if self.lines else 0.0
        self.height = math.sqrt(2) * LINE * (len(self.lines) + 0.4) + GAP if self.lines else 0.0


class Slot:
    """A column of a header: the pill of an API method, or an arrow's way through."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.above, self.below = Side(), Side()
        self.inputs, self.outputs = Oval(), Oval()  # of a root, above and below the box
        self.x = 0.0

    def pill(self) -> float:
        arrows = max([0.0, *self.above.xs.values(), *self.below.xs.values()])
        return max(text_width(PILL, self.text) + 14, arrows + INSET)

    def place(self, x: float) -> float:
        """Puts it at x, and tells where the next one may begin."""
        around = max(self.inputs.width, self.outputs.width)
        self.x = x + max(0.0, around - self.pill()) / 2
        own = max(self.pill(), self.above.width(), self.below.width())
        return max(x + around, self.x + own) + GAP


class Frame:
    """A scope with its place, relative to its parent until all are measured."""

    def __init__(self, scope: Scope, parent: Frame | None) -> None:
        self.scope = scope
        self.parent = parent or self  # the canvas is its own
        self.depth: int = parent.depth + 1 if parent else 0
        self.children: list[Frame] = []
        if parent is not None:
            parent.children.append(self)
        self.slots = {("", name): Slot(name) for name in scope.methods}
        self.hops: list[Hop] = []
        self.row, self.x, self.y, self.width, self.height = 0, 0.0, 0.0, 0.0, 0.0
        # The y of lanes in each gutter, and the x of those in the left margin.
        self.lanes: list[dict[Key, float]] = []
        self.margin: dict[Key, float] = {}
        held = [] if scope.shares else [str(held) for held in scope.variables]
        more = [f"… {len(held) - VARIABLES} more"] if len(held) > VARIABLES else []
        self.notes = held[:VARIABLES] + more

    def slot(self, key: Key) -> End:
        return self, self.slots.setdefault(key, Slot())


class Hop:
    """The part of an arrow inside one box, between slots of its header and of its children."""

    def __init__(self, box: Frame, key: Key, *ends: End) -> None:
        self.box, self.key, self.ends = box, key, ends
        for end in ends:
            xs = self.side(end).xs
            xs.setdefault(key, INSET + STEP * len(xs))
        box.hops.append(self)

    def side(self, end: End) -> Side:
        return end[1].below if end[0] is self.box else end[1].above

    def at(self) -> list[tuple[int, float]]:
        """Gutter and x of both ends."""
        gutters = (0 if at is self.box else at.row for at, _ in self.ends)
        xs = (end[0].x + end[1].x + self.side(end).xs[self.key] for end in self.ends)
        return list(zip(gutters, xs, strict=True))

    def points(self) -> list[Point]:
        box, (first, start), (last, end) = self.box, *self.at()
        lanes = [box.y + box.lanes[gutter][self.key] for gutter in (first, last)]
        turn = [(box.x + box.margin[self.key], y) for y in lanes] if first != last else []
        tips = [
            at.y + (PILL_TOP + PILL_HEIGHT * (at is box) if slot.text else HEAD * (at is box))
            for at, slot in self.ends
        ]
        return [(start, tips[0]), (start, lanes[0]), *turn, (end, lanes[1]), (end, tips[1])]


class Layout:
    """A picture with a place for each thing in it."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        at: dict[int, Frame] = {}
        for scope in picture.canvas:
            at[id(scope)] = Frame(scope, at.get(id(scope.parent or picture.canvas)))
        frames = list(at.values())
        self.canvas, self.frames = frames[0], frames[1:]
        # Calls from outside, with the boxes of the roots.
        self.entries = [(a, at[id(a.target)]) for a in picture.arrows if not a.source]
        for arrow, frame in self.entries:
            _, slot = frame.slot(("", arrow.method))
            slot.inputs = Oval(arrow.inputs.values() or ["no inputs"])
            slot.outputs = Oval(arrow.outputs)
        self._calls = [(arrow, _route(arrow, at)) for arrow in picture.arrows if arrow.source]
        self._shares = [_share(f, at[id(f.scope.shares)]) for f in frames if f.scope.shares]
        for frame in reversed(frames):
            _measure(frame)
        for frame in frames:
            frame.x, frame.y = frame.x + frame.parent.x, frame.y + frame.parent.y

    def calls(self) -> list[tuple[Arrow, list[Point]]]:
        """Calls between components, each with the corners of its arrow."""
        return [(arrow, _corners(hops)) for arrow, hops in self._calls]

    def shares(self) -> list[list[Point]]:
        """The corners of lines to shared scopes."""
        return [_corners(hops) for hops in self._shares]


def _corners(hops: list[Hop]) -> list[Point]:
    return [point for hop in hops for point in hop.points()]


def _route(arrow: Arrow, at: dict[int, Frame]) -> list[Hop]:
    """From the calling pill to the called one, with a label there."""
    key = (arrow.source.path if arrow.source else "", arrow.via or "")
    pill = at[id(arrow.target)].slot(("", arrow.method))
    hops = _connect(key, at[id(arrow.source)].slot(("", arrow.via or "")), pill)
    label = f"{f'{arrow.order}: ' if arrow.order else ''}{arrow.label}"
    labels = hops[-1].side(pill).labels
    labels += [(label, line_colour(arrow))] if label else []
    labels[LABELS:] = [("…", FAINT)] if len(labels) > LABELS else []
    return hops


def _share(source: Frame, target: Frame) -> list[Hop]:
    key = ("shared", target.scope.path)
    return _connect(key, source.slot(key), target.slot(key), outside=True)


def _connect(key: Key, source: End, target: End, *, outside: bool = False) -> list[Hop]:
    """Up to the innermost box around both, then down; from inside of the source or from outside."""
    low, high = source[0], target[0]
    ups, downs = list[Frame](), list[Frame]()
    while low is not high:
        if low.depth >= high.depth:
            ups.append(low)
            low = low.parent
        else:
            downs.append(high)
            high = high.parent
    way = [(box, box.slot(key)) for box in ups[outside:]]
    way += [(b.parent, target if b is target[0] else b.slot(key)) for b in reversed(downs)]
    way += [] if downs else [(target[0], target)]
    starts = [source, *(end for _, end in way)]
    return [Hop(box, key, start, end) for start, (box, end) in zip(starts, way, strict=False)]


def _measure(box: Frame) -> None:
    """Sizes a box and places what is in it; its children are measured already."""
    x = PAD + max(text_width(NAME, box.scope.name), text_width(KIND, box.scope.kind)) + GAP
    for key, slot in box.slots.items():
        if key != ("", ""):  # calls of an uncertain method leave from below the name
            x = slot.place(x)
    rows = _wrap(box.children)
    crossing = (hop.key for hop in box.hops if len({gutter for gutter, _ in hop.at()}) > 1)
    box.margin = {key: PAD + LANE * n for n, key in enumerate(dict.fromkeys(crossing))}
    widths = [x - GAP + PAD, text_width(SMALL, *box.notes) + 2 * PAD]
    for row in rows:
        x = PAD + LANE * len(box.margin)
        for child in row:
            child.x = x
            x += child.width + GAP
        widths.append(x - GAP + PAD)
    box.width = max(widths)
    _stack(box, rows)


def _wrap(children: list[Frame]) -> list[list[Frame]]:
    """At least one row, about twice as wide as all are high; sets the row numbers of children."""
    area = sum((child.width + GAP) * (child.height + GAP + LANE) for child in children)
    limit, x = max(ROW, math.sqrt(2 * area)), 0.0
    rows: list[list[Frame]] = [[]]
    for child in children:
        if rows[-1] and x + child.width > limit:
            rows.append([])
            x = 0.0
        rows[-1].append(child)
        child.row = len(rows) - 1
        x += child.width + GAP
    return rows


def _stack(box: Frame, rows: list[list[Frame]]) -> None:
    """Header, gutters, rows and variables from top to bottom."""
    spans: list[dict[Key, Point]] = [{} for _ in rows]
    for hop in box.hops:
        (first, start), (last, end) = hop.at()
        turns = (start, end) if first == last else (box.margin[hop.key],)
        for gutter, x in ((first, start), (last, end)):
            xs = (x, *turns, *spans[gutter].get(hop.key, ()))
            spans[gutter][hop.key] = (min(xs), max(xs))
    y = HEAD if box.scope.path else PAD
    y += LINE * max((len(slot.below.labels) for slot in box.slots.values()), default=0)
    for span, row in zip(spans, rows, strict=True):
        lanes = _lanes(span)
        box.lanes.append({key: y + 4 + LANE * n for key, n in lanes.items()})
        y += LANE * (max(lanes.values(), default=-1) + 1) + (6 if span else 0)
        slots = [slot for child in row for slot in child.slots.values()]
        y += LINE * max((len(slot.above.labels) for slot in slots), default=0) + (3 if row else 0)
        y += max((slot.inputs.height for slot in slots), default=0.0)
        for child in row:
            child.y = y
        y += max((child.height for child in row), default=-GAP) + GAP
        y += max((slot.outputs.height for slot in slots), default=0.0)
    box.height = y + (LINE * len(box.notes) + 9 if box.notes else 0)


def _lanes(spans: dict[Key, Point]) -> dict[Key, int]:
    """The first lane with room for each span, from left to right."""
    ends: list[float] = []
    found: dict[Key, int] = {}
    for key, (low, high) in sorted(spans.items(), key=lambda item: item[1]):
        lane = next((n for n, end in enumerate(ends) if end + 2 * ROUND < low), len(ends))
        ends[lane : lane + 1] = [high]
        found[key] = lane
    return found


def line_colour(arrow: Arrow) -> str:
    """The colour of the calling pill; from outside, of the called one."""
    scope, name = (arrow.source, arrow.via) if arrow.source else (arrow.target, arrow.method)
    return LINES[list(scope.methods).index(name) % len(LINES)] if name in scope.methods else INK


def clip(text: str) -> str:
    return text if len(text) <= CHARACTERS else f"{text[: CHARACTERS - 1]}…"


def text_width(size: float, *texts: str) -> float:
    """Of the widest of some texts; East Asian fonts have characters of two columns."""
    clipped = map(clip, texts)
    cells = (sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text) for text in clipped)
    return max(cells, default=0) * size * ADVANCE
