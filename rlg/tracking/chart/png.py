"""A picture as PNG, in light colours: for places that show nothing else."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable
from typing import Any

from rlg.tracking.chart.shapes import Area, Dot, Line, Picture, Point, Text, colour

SCALE = 2  # pixels for each of the picture's units
FINER = 2  # drawn larger still, then reduced: Pillow's own lines have steps


def to_png(picture: Picture) -> bytes:
    """The whole file."""
    from PIL import Image

    zoom = SCALE * FINER
    size = (round(picture.width * zoom), round(picture.height * zoom))
    image = Image.new("RGB", size, colour("page", dark=False))
    for shape in picture.shapes:
        if isinstance(shape, Text):
            _write(image, shape, zoom)
        else:
            _paint(image, shape, zoom)
    image = image.resize((size[0] // FINER, size[1] // FINER), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def _paint(image: Any, shape: Line | Area | Dot, zoom: int) -> None:
    """Through a mask as large as the shape, so that what lies below shines through."""
    from PIL import Image, ImageDraw

    points = (shape.center,) if isinstance(shape, Dot) else shape.points
    room = shape.radius if isinstance(shape, Dot) else 4.0
    left, top = (round((min(axis) - room) * zoom) for axis in zip(*points, strict=True))
    right, bottom = (round((max(axis) + room) * zoom) for axis in zip(*points, strict=True))
    mask = Image.new("L", (right - left, bottom - top), 0)
    pen = ImageDraw.Draw(mask)
    strength = round(255 * shape.opacity)

    def placed(part: Iterable[Point]) -> list[Point]:
        return [(x * zoom - left, y * zoom - top) for x, y in part]

    if isinstance(shape, Line):
        width = max(1, round(shape.width * zoom))
        for part in _dashed(shape.points, shape.dash):
            pen.line(placed(part), fill=strength, width=width, joint="curve")
    elif isinstance(shape, Area):
        pen.polygon(placed(shape.points), fill=strength)
    else:
        pen.ellipse((0, 0, right - left, bottom - top), strength)
    image.paste(colour(shape.role, dark=False), (left, top, right, bottom), mask)


def _write(image: Any, shape: Text, zoom: int) -> None:
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(shape.size * zoom)
    stroke = round(0.02 * shape.size * zoom) if shape.bold else 0
    length, height = round(font.getlength(shape.text)) + 2, round(1.5 * shape.size * zoom)
    base = round(1.1 * shape.size * zoom)  # of the baseline, from the top
    mask = Image.new("L", (length, height), 0)
    pen = ImageDraw.Draw(mask)
    pen.text((0, base), shape.text, fill=255, font=font, anchor="ls", stroke_width=stroke)
    before = round({"start": 0.0, "middle": 0.5, "end": 1.0}[shape.anchor] * length)
    x, y = round(shape.at[0] * zoom), round(shape.at[1] * zoom)
    corner = (x - before, y - base)
    if shape.upright:
        mask = mask.transpose(Image.Transpose.ROTATE_90)
        corner = (x - base, y - (length - before))
    image.paste(colour(shape.role, dark=False), (*corner, *_beyond(corner, mask.size)), mask)


def _beyond(corner: tuple[int, int], size: tuple[int, int]) -> tuple[int, int]:
    return corner[0] + size[0], corner[1] + size[1]


def _dashed(points: tuple[Point, ...], dash: str) -> list[list[Point]]:
    """The line, or its pieces; distances run on over corners."""
    if not dash:
        return [list(points)]
    on, off = map(float, dash.split())
    parts: list[list[Point]] = [[points[0]]]
    drawing, left = True, on
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        done = 0.0
        while length - done > left:
            done += left
            corner = (x0 + (x1 - x0) * done / length, y0 + (y1 - y0) * done / length)
            if drawing:
                parts[-1].append(corner)
            else:
                parts.append([corner])
            drawing, left = not drawing, off if drawing else on
        left -= length - done
        if drawing:
            parts[-1].append((x1, y1))
    return [part for part in parts if len(part) > 1]
