"""Schedules from plain forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.errors import SpecError
from rlg.graph.components.schedules.schedule import Schedule
from rlg.graph.registry import make
from rlg.spelling import suggestion

TYPES = ("constant", "linear", "polynomial", "exponential", "half_life", "piecewise")


def make_schedule(spec: Any) -> Schedule:
    """A number is constant, a list of [time, value] points piecewise, a mapping goes by its `type`.

    `{type: linear, initial: 1.0, final: 0.1, length: 10_000}`; a schedule stays as it is.
    """
    if isinstance(spec, Schedule):
        return spec
    if isinstance(spec, (int, float)) and not isinstance(spec, bool):
        spec = {"type": "constant", "constant": float(spec)}
    elif isinstance(spec, (list, tuple)) and all(_is_pair(point) for point in spec):
        spec = {"type": "piecewise", "points": [list(point) for point in spec]}
    if not isinstance(spec, Mapping) or "type" not in spec:
        raise SpecError(
            f"a schedule is a number, a list of [time, value] points, or a mapping with `type`; "
            f"this is {spec!r}."
        )
    name = str(spec["type"]).removesuffix("_schedule")
    if name not in TYPES:
        raise SpecError(
            f"there is no schedule {name!r}.{suggestion(name, TYPES)} Known: {', '.join(TYPES)}."
        )
    words = {key: _number(value) for key, value in spec.items()}
    schedule: Schedule = make({**words, "type": f"{name}_schedule"})
    return schedule


def _number(value: Any) -> Any:
    """YAML 1.1 reads 1e-3 as text."""
    if isinstance(value, (list, tuple)):
        return [_number(item) for item in value]
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _is_pair(point: Any) -> bool:
    return isinstance(point, (list, tuple)) and len(point) == 2
