"""The SVG of a picture: nested boxes, and arrows that run in lanes between them.

A box has a header with a pill for each API method, then rows of the components inside as they are
called, left to right, a gutter above each row. An arrow leaves the calling pill downwards, runs
along a lane of a gutter and drops onto the called pill; to lower rows it goes by the left margin,
through other headers in a slot of its own. So arrows cross no text.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rlg.graph.core.draw import Arrow, Picture, Scope

# All arrows of one calling method have the same key, and share lanes and slots.
Key: TypeAlias = tuple[str, str]
Point: TypeAlias = tuple[float, float]
End: TypeAlias = "tuple[_Box, _Slot]"

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


class _Side:
    """Where arrows meet a slot: above it from outside of the box, below it from inside."""

    def __init__(self) -> None:
        self.xs: dict[Key, float] = {}
        self.labels: list[tuple[str, str]] = []

    def label_x(self) -> float:
        return max(self.xs.values(), default=0.0) + 5

    def width(self) -> float:
        return self.label_x() + _width(SMALL, *(text for text, _ in self.labels))


class _Oval:
    """Lines of text in an ellipse; the arrow at it counts as part of its height."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self.lines = list(lines)
        self.width = math.sqrt(2) * (_width(SMALL, *self.lines) + 6) if self.lines else 0.0
        self.height = math.sqrt(2) * LINE * (len(self.lines) + 0.4) + GAP if self.lines else 0.0

    def draw(self, kind: str, x: float, top: float, colour: str) -> str:
        radius = (self.height - GAP) / 2
        y = top + radius - LINE * len(self.lines) / 2 + 8
        shape = {"cx": x, "cy": top + radius, "rx": self.width / 2, "ry": radius}
        oval = _tag("ellipse", **shape, fill="#ffffff", stroke=colour)
        words = {"text_anchor": "middle"}
        texts = (_text(x, y + LINE * n, t, SMALL, **words) for n, t in enumerate(self.lines))
        return _tag("g", oval, *texts, class_=kind)


class _Slot:
    """A column of a header: the pill of an API method, or an arrow's way through."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.above, self.below = _Side(), _Side()
        self.inputs, self.outputs = _Oval(), _Oval()  # of a root, above and below the box
        self.x = 0.0

    def pill(self) -> float:
        arrows = max([0.0, *self.above.xs.values(), *self.below.xs.values()])
        return max(_width(PILL, self.text) + 14, arrows + INSET)

    def place(self, x: float) -> float:
        """Puts it at x, and tells where the next one may begin."""
        around = max(self.inputs.width, self.outputs.width)
        self.x = x + max(0.0, around - self.pill()) / 2
        own = max(self.pill(), self.above.width(), self.below.width())
        return max(x + around, self.x + own) + GAP


class _Box:
    """A scope with its place, relative to its parent until all are measured."""

    def __init__(self, scope: Scope, parent: _Box | None) -> None:
        self.scope = scope
        self.parent = parent or self  # the canvas is its own
        self.depth: int = parent.depth + 1 if parent else 0
        self.children: list[_Box] = []
        if parent is not None:
            parent.children.append(self)
        self.slots = {("", name): _Slot(name) for name in scope.methods}
        self.hops: list[_Hop] = []
        self.row, self.x, self.y, self.width, self.height = 0, 0.0, 0.0, 0.0, 0.0
        # The y of lanes in each gutter, and the x of those in the left margin.
        self.lanes: list[dict[Key, float]] = []
        self.margin: dict[Key, float] = {}
        held = [] if scope.shares else [str(held) for held in scope.variables]
        more = [f"… {len(held) - VARIABLES} more"] if len(held) > VARIABLES else []
        self.notes = held[:VARIABLES] + more

    def slot(self, key: Key) -> End:
        return self, self.slots.setdefault(key, _Slot())


class _Hop:
    """The part of an arrow inside one box, between slots of its header and of its children."""

    def __init__(self, box: _Box, key: Key, *ends: End) -> None:
        self.box, self.key, self.ends = box, key, ends
        for end in ends:
            xs = self.side(end).xs
            xs.setdefault(key, INSET + STEP * len(xs))
        box.hops.append(self)

    def side(self, end: End) -> _Side:
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


def render(picture: Picture) -> str:
    """Lays a picture out and writes it down."""
    at: dict[int, _Box] = {}
    for scope in picture.canvas:
        at[id(scope)] = _Box(scope, at.get(id(scope.parent or picture.canvas)))
    boxes = list(at.values())
    entries = [arrow for arrow in picture.arrows if not arrow.source]
    for arrow in entries:
        _, slot = at[id(arrow.target)].slot(("", arrow.method))
        slot.inputs = _Oval(arrow.inputs.values() or ["no inputs"])
        slot.outputs = _Oval(arrow.outputs)
    calls = [(arrow, _route(arrow, at)) for arrow in picture.arrows if arrow.source]
    shares = [_share(box, at[id(box.scope.shares)]) for box in boxes if box.scope.shares]
    for box in reversed(boxes):
        _measure(box)
    for box in boxes:
        box.x, box.y = box.x + box.parent.x, box.y + box.parent.y
    parts = [_draw(box, n, picture) for n, box in enumerate(boxes) if n > 0]
    for hops in shares:
        points = [point for hop in hops for point in hop.points()]
        parts.append(_curve(points, FAINT, class_="share", stroke_dasharray="3 3"))
    for arrow, hops in calls:
        parts.append(_call(arrow, [point for hop in hops for point in hop.points()]))
    parts += [_entry(arrow, at[id(arrow.target)]) for arrow in entries]
    return _document(picture, boxes[0], parts)


def _route(arrow: Arrow, at: dict[int, _Box]) -> list[_Hop]:
    """From the calling pill to the called one, with a label there."""
    key = (arrow.source.path if arrow.source else "", arrow.via or "")
    pill = at[id(arrow.target)].slot(("", arrow.method))
    hops = _connect(key, at[id(arrow.source)].slot(("", arrow.via or "")), pill)
    label = f"{f'{arrow.order}: ' if arrow.order else ''}{arrow.label}"
    labels = hops[-1].side(pill).labels
    labels += [(label, _line(arrow))] if label else []
    labels[LABELS:] = [("…", FAINT)] if len(labels) > LABELS else []
    return hops


def _share(source: _Box, target: _Box) -> list[_Hop]:
    key = ("shared", target.scope.path)
    return _connect(key, source.slot(key), target.slot(key), outside=True)


def _connect(key: Key, source: End, target: End, *, outside: bool = False) -> list[_Hop]:
    """Up to the innermost box around both, then down; from inside of the source or from outside."""
    low, high = source[0], target[0]
    ups, downs = list[_Box](), list[_Box]()
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
    return [_Hop(box, key, start, end) for start, (box, end) in zip(starts, way, strict=False)]


def _measure(box: _Box) -> None:
    """Sizes a box and places what is in it; its children are measured already."""
    x = PAD + max(_width(NAME, box.scope.name), _width(KIND, box.scope.kind)) + GAP
    for key, slot in box.slots.items():
        if key != ("", ""):  # calls of an uncertain method leave from below the name
            x = slot.place(x)
    rows = _wrap(box.children)
    crossing = (hop.key for hop in box.hops if len({gutter for gutter, _ in hop.at()}) > 1)
    box.margin = {key: PAD + LANE * n for n, key in enumerate(dict.fromkeys(crossing))}
    widths = [x - GAP + PAD, _width(SMALL, *box.notes) + 2 * PAD]
    for row in rows:
        x = PAD + LANE * len(box.margin)
        for child in row:
            child.x = x
            x += child.width + GAP
        widths.append(x - GAP + PAD)
    box.width = max(widths)
    _stack(box, rows)


def _wrap(children: list[_Box]) -> list[list[_Box]]:
    """At least one row, about twice as wide as all are high; sets the row numbers of children."""
    area = sum((child.width + GAP) * (child.height + GAP + LANE) for child in children)
    limit, x = max(ROW, math.sqrt(2 * area)), 0.0
    rows: list[list[_Box]] = [[]]
    for child in children:
        if rows[-1] and x + child.width > limit:
            rows.append([])
            x = 0.0
        rows[-1].append(child)
        child.row = len(rows) - 1
        x += child.width + GAP
    return rows


def _stack(box: _Box, rows: list[list[_Box]]) -> None:
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


def _draw(box: _Box, number: int, picture: Picture) -> str:
    scope, x, y = box.scope, box.x, box.y
    colours = picture.colours(scope.devices, 1 if scope.children else 0)
    last = len(colours) - 1
    stops = [_tag("stop", offset=n / max(last, 1), stop_color=c) for n, c in enumerate(colours)]
    mix = _tag("linearGradient", *stops, id=f"mix-{number}") if last else ""
    look = {"fill": f"url(#mix-{number})" if mix else colours[0]}
    look["stroke"] = picture.colours(scope.devices, 2)[0]
    look |= {} if scope.signatures else {"stroke_dasharray": "5 3"}  # nobody calls it
    bottom = y + box.height - LINE * len(box.notes) + 2
    parts = [
        _tag("title", escape(scope.tooltip)),
        mix,
        _tag("rect", x=x, y=y, width=box.width, height=box.height, rx=8, **look),
        _text(x + PAD, y + 20, scope.name, NAME, font_weight="bold"),
        _text(x + PAD, y + 32, scope.kind, KIND, FAINT),
        *(_text(x + PAD, bottom + LINE * n, t, SMALL) for n, t in enumerate(box.notes)),
        *(_pill(box, slot, name) for (_, name), slot in box.slots.items()),
    ]
    return _tag("g", *parts, class_="scope", data_path=scope.path)


def _document(picture: Picture, canvas: _Box, parts: list[str]) -> str:
    """All parts on white, with a legend of the devices."""
    x, y = PAD, canvas.height + 4
    for device in picture.devices:
        fill, border = (picture.colours([device], shade)[0] for shade in (0, 2))
        parts.append(_tag("rect", x=x, y=y, width=14, height=14, rx=3, fill=fill, stroke=border))
        parts.append(_text(x + 20, y + 11, device, KIND, class_="device"))
        x += 20 + _width(KIND, device) + 2 * GAP
    size = {"width": max(canvas.width, x), "height": y + 14 + PAD}
    lines = (f"\n{part}" for part in [_tag("rect", **size, fill="#ffffff"), *parts, ""])
    words = {"xmlns": "http://www.w3.org/2000/svg", "font_family": FONT}
    return _tag("svg", *lines, **words, viewBox=f"0 0 {_n(*size.values())}", **size)


def _pill(box: _Box, slot: _Slot, name: str) -> str:
    x, y, parts = box.x + slot.x, box.y + PILL_TOP, list[str]()
    if slot.text:
        colour = LINES[list(box.scope.methods).index(name) % len(LINES)]
        look = {"class_": "api", "fill": "#ffffff", "stroke": colour}
        pill = _tag("rect", x=x, y=y, width=slot.pill(), height=PILL_HEIGHT, rx=9, **look)
        text = _text(x + slot.pill() / 2, y + 12.5, slot.text, PILL, text_anchor="middle")
        parts.append(_tag("g", pill, text, opacity=1.0 if name in box.scope.signatures else 0.35))
    first = box.y - 4 - LINE * (len(slot.above.labels) - 1)
    for side, y in ((slot.above, first), (slot.below, box.y + HEAD + LINE - 4)):
        for n, (text, colour) in enumerate(side.labels):
            at = (x + side.label_x(), y + LINE * n)
            parts.append(_text(*at, text, SMALL, colour, class_="label"))
    return "".join(parts)


def _call(arrow: Arrow, points: list[Point]) -> str:
    caller = ".".join([arrow.source.path, *filter(None, [arrow.via])]) if arrow.source else ""
    callee = f"{arrow.target.path}.{arrow.method}"
    title = _tag("title", escape(f"{caller or 'from outside'} → {callee}\n{arrow.signature}"))
    curve = _curve(points, _line(arrow))
    return _tag("g", title, curve, class_="call", data_from=caller, data_to=callee)


def _entry(arrow: Arrow, box: _Box) -> str:
    """The ellipses of a root's API method, with arrows to its pill and from the box."""
    _, slot = box.slot(("", arrow.method))
    x, bottom, colour = box.x + slot.x + slot.pill() / 2, box.y + box.height, _line(arrow)
    parts = slot.inputs.draw("input", x, box.y - slot.inputs.height, colour)
    parts += _call(arrow, [(x, box.y - GAP), (x, box.y + PILL_TOP)])
    if slot.outputs.lines:
        parts += _curve([(x, bottom), (x, bottom + GAP)], colour)
        parts += slot.outputs.draw("output", x, bottom + GAP, colour)
    return parts


def _line(arrow: Arrow) -> str:
    """The colour of the calling pill; from outside, of the called one."""
    scope, name = (arrow.source, arrow.via) if arrow.source else (arrow.target, arrow.method)
    return LINES[list(scope.methods).index(name) % len(LINES)] if name in scope.methods else INK


def _curve(points: list[Point], colour: str, **words: str) -> str:
    """A line with round corners, and a head unless it has words of its own."""
    line = f"M{_n(*points[0])}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        line += f"L{_towards(corner, before)}Q{_n(*corner)} {_towards(corner, after)}"
    line += f"L{_n(*points[-1])}"
    curve = _tag("path", d=line, fill="none", stroke=colour, stroke_width=1.3, **words)
    (_, before_y), (x, y) = points[-2:]
    head = f"M{_n(x - 3, y - math.copysign(6, y - before_y))}h6L{_n(x, y)}z"
    return curve if words else curve + _tag("path", d=head, fill=colour)


def _towards(corner: Point, other: Point) -> str:
    """Where a round corner begins: not beyond the middle of the line to the next one."""
    part = min(ROUND / max(math.dist(corner, other), 1e-9), 0.5)
    return _n(*(a + (b - a) * part for a, b in zip(corner, other, strict=True)))


def _tag(name: str, *inner: str, **words: str | float) -> str:
    """An element; `class_` is class, and other underscores are hyphens."""
    text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(w) if isinstance(w, str) else _n(w)}"'
        for key, w in words.items()
    )
    return f"<{name}{text}>{''.join(inner)}</{name}>" if inner else f"<{name}{text}/>"


def _text(x: float, y: float, text: str, size: float, fill: str = INK, **words: str) -> str:
    return _tag("text", escape(_clip(text)), x=x, y=y, font_size=size, fill=fill, **words)


def _n(*numbers: float) -> str:
    return " ".join(f"{number:.2f}".rstrip("0").rstrip(".") for number in numbers)


def _clip(text: str) -> str:
    return text if len(text) <= CHARACTERS else f"{text[: CHARACTERS - 1]}…"


def _width(size: float, *texts: str) -> float:
    """Of the widest of some texts; East Asian fonts have characters of two columns."""
    clipped = map(_clip, texts)
    cells = (sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text) for text in clipped)
    return max(cells, default=0) * size * ADVANCE
