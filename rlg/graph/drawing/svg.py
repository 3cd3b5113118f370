"""The SVG of a picture, laid out here: it needs no other program."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from rlg.graph.drawing.layout import (
    FAINT,
    FONT,
    GAP,
    HEAD,
    INK,
    KIND,
    LINE,
    LINES,
    NAME,
    PAD,
    PILL,
    PILL_HEIGHT,
    PILL_TOP,
    ROUND,
    SMALL,
    Frame,
    Layout,
    Oval,
    Point,
    Slot,
    clip,
    line_colour,
    text_width,
)
from rlg.graph.drawing.picture import Arrow, Picture

if TYPE_CHECKING:
    from rlg.graph.core.build.builder import Builder


def to_svg(builder: Builder, api: str | None = None) -> str:
    """A self-contained SVG: scopes as nested boxes, API calls as arrows."""
    picture = Picture(builder, api)
    layout = Layout(picture)
    parts = [_draw(frame, n, picture) for n, frame in enumerate(layout.frames, start=1)]
    dashed = {"class_": "share", "stroke_dasharray": "3 3"}
    parts += [_curve(points, FAINT, **dashed) for points in layout.shares()]
    parts += [_call(arrow, points) for arrow, points in layout.calls()]
    parts += [_entry(arrow, frame) for arrow, frame in layout.entries]
    return _document(picture, layout.canvas, parts)


def _draw(box: Frame, number: int, picture: Picture) -> str:
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


def _document(picture: Picture, canvas: Frame, parts: list[str]) -> str:
    """All parts on white, with a legend of the devices."""
    x, y = PAD, canvas.height + 4
    for device in picture.devices:
        fill, border = (picture.colours([device], shade)[0] for shade in (0, 2))
        parts.append(_tag("rect", x=x, y=y, width=14, height=14, rx=3, fill=fill, stroke=border))
        parts.append(_text(x + 20, y + 11, device, KIND, class_="device"))
        x += 20 + text_width(KIND, device) + 2 * GAP
    size = {"width": max(canvas.width, x), "height": y + 14 + PAD}
    lines = (f"\n{part}" for part in [_tag("rect", **size, fill="#ffffff"), *parts, ""])
    words = {"xmlns": "http://www.w3.org/2000/svg", "font_family": FONT}
    return _tag("svg", *lines, **words, viewBox=f"0 0 {_n(*size.values())}", **size)


def _pill(box: Frame, slot: Slot, name: str) -> str:
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
    curve = _curve(points, line_colour(arrow))
    return _tag("g", title, curve, class_="call", data_from=caller, data_to=callee)


def _entry(arrow: Arrow, box: Frame) -> str:
    """The ellipses of a root's API method, with arrows to its pill and from the box."""
    _, slot = box.slot(("", arrow.method))
    x, bottom, colour = box.x + slot.x + slot.pill() / 2, box.y + box.height, line_colour(arrow)
    parts = _oval(slot.inputs, "input", x, box.y - slot.inputs.height, colour)
    parts += _call(arrow, [(x, box.y - GAP), (x, box.y + PILL_TOP)])
    if slot.outputs.lines:
        parts += _curve([(x, bottom), (x, bottom + GAP)], colour)
        parts += _oval(slot.outputs, "output", x, bottom + GAP, colour)
    return parts


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
    return _tag("text", escape(clip(text)), x=x, y=y, font_size=size, fill=fill, **words)


def _n(*numbers: float) -> str:
    return " ".join(f"{number:.2f}".rstrip("0").rstrip(".") for number in numbers)


def _oval(oval: Oval, kind: str, x: float, top: float, colour: str) -> str:
    radius = (oval.height - GAP) / 2
    y = top + radius - LINE * len(oval.lines) / 2 + 8
    shape = {"cx": x, "cy": top + radius, "rx": oval.width / 2, "ry": radius}
    ring = _tag("ellipse", **shape, fill="#ffffff", stroke=colour)
    words = {"text_anchor": "middle"}
    texts = (_text(x, y + LINE * n, t, SMALL, **words) for n, t in enumerate(oval.lines))
    return _tag("g", ring, *texts, class_=kind)
