"""A picture as SVG: one file, which follows the reader's theme."""

from __future__ import annotations

from html import escape

from rlg.tracking.chart.shapes import GROUPS, ROLES, Area, Dot, Line, Picture, Point, Shape, colour

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def to_svg(picture: Picture) -> str:
    """The whole file."""
    size = f'width="{picture.width:g}" height="{picture.height:g}"'
    body = "\n".join(map(_element, picture.shapes))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
        f'viewBox="0 0 {picture.width:g} {picture.height:g}" font-family="{FONT}" role="img">\n'
        f"<style>{css()}</style>\n"
        f'<rect class="page" {size}/>\n{body}\n</svg>\n'
    )


def css() -> str:
    """Colours of all roles: as lines (s-) and as areas and text, in light and dark."""
    roles = [*ROLES, *(f"g{index}" for index in range(len(GROUPS)))]

    def rules(*, dark: bool) -> str:
        parts = []
        for role in roles:
            value = colour(role, dark=dark)
            parts.append(f".{role}{{fill:{value}}}.s-{role}{{stroke:{value};fill:none}}")
        return "".join(parts)

    dark = rules(dark=True)
    return f"{rules(dark=False)}@media (prefers-color-scheme: dark){{{dark}}}"


def _element(shape: Shape) -> str:
    if isinstance(shape, Line):
        dash = f' stroke-dasharray="{shape.dash}"' if shape.dash else ""
        return (
            f'<polyline class="s-{shape.role}" points="{_points(shape.points)}" '
            f'stroke-width="{shape.width:g}" stroke-linejoin="round"{_opacity(shape.opacity)}'
            f"{dash}/>"
        )
    if isinstance(shape, Area):
        points = _points(shape.points)
        return f'<polygon class="{shape.role}" points="{points}"{_opacity(shape.opacity)}/>'
    if isinstance(shape, Dot):
        (x, y), radius = shape.center, f"{shape.radius:g}"
        return (
            f'<circle class="{shape.role}" cx="{x:g}" cy="{y:g}" r="{radius}"'
            f"{_opacity(shape.opacity)}/>"
        )
    x, y = shape.at
    turn = f' transform="rotate(-90 {x:g} {y:g})"' if shape.upright else ""
    weight = ' font-weight="600"' if shape.bold else ""
    return (
        f'<text class="{shape.role}" x="{x:g}" y="{y:g}" font-size="{shape.size:g}" '
        f'text-anchor="{shape.anchor}"{weight}{turn}>{escape(shape.text)}</text>'
    )


def _points(points: tuple[Point, ...]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def _opacity(value: float) -> str:
    return f' opacity="{value:g}"' if value < 1 else ""
