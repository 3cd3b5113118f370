"""Keys whose value may change over a run: a number, points [time, value], or a schedule's spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rlg.api.config.ranges import check_range
from rlg.errors import RLGError, SpecError

KEYS = ("agent.exploration", "optimizer.learning_rate")
_TIMES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of a run, whose time goes from 0 to 1


def check_schedules(
    section: Mapping[str, Any], where: str, check_spec: Callable[[Any, str], Any]
) -> None:
    """Refuses schedules that can't be made, or whose values leave the range of their key."""
    for key, value in section.items():
        path = f"{where}.{key}"
        if path in KEYS and isinstance(value, (list, str, Mapping)):
            _check(path, value, check_spec)


def _check(path: str, value: Any, check_spec: Callable[[Any, str], Any]) -> None:
    from rlg.graph.components.schedules.factory import TYPES, make_schedule

    name = value.get("type") if isinstance(value, Mapping) else None
    if isinstance(value, Mapping) and name in TYPES:
        check_spec({**value, "type": f"{name}_schedule"}, path)
    try:
        schedule = make_schedule(value)
        values = [schedule.at(time) for time in _TIMES]
    except RLGError as error:
        raise SpecError(f"{path}: {error}") from error
    except Exception as error:
        raise SpecError(
            f"{path}: {value!r} is no schedule ({type(error).__name__}: {error}). Write a number, "
            "[[0,1.0],[0.5,0.1]] or {type: linear, initial: 1.0, final: 0.1, length: 0.5}."
        ) from error
    for number in values:
        if number:  # also where a constant would have to be positive, a decay may end at 0
            check_range(path, number)
