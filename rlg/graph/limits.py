"""Limits of numbers, written once: in the signature of the constructor that takes them.

    def __init__(self, buffer_size: PositiveInt = 100_000, alpha: Fraction = 0.6) -> None:

`registry.make`, agents and the validation of configurations read them there, and `rlg list` shows
them. The names are pydantic's as far as it has them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, TypeAlias, get_args, get_origin

from annotated_types import Ge, Gt, Interval, Le, Lt

PositiveInt: TypeAlias = Annotated[int, Ge(1)]
NonNegativeInt: TypeAlias = Annotated[int, Ge(0)]
PositiveFloat: TypeAlias = Annotated[float, Gt(0)]
NonNegativeFloat: TypeAlias = Annotated[float, Ge(0)]
FiniteFloat: TypeAlias = Annotated[float, Interval(gt=-math.inf, lt=math.inf)]
Fraction: TypeAlias = Annotated[float, Interval(ge=0, le=1)]
PositiveFraction: TypeAlias = Annotated[float, Interval(gt=0, le=1)]
Decay: TypeAlias = Annotated[float, Interval(ge=0, lt=1)]


class Scheduled:
    """Marks an argument that may be a schedule: a number, points [time, value], or a spec.

    `number` is the type of the values; 0 is allowed at the end of a decay, whatever it says.
    """

    def __init__(self, number: Any = FiniteFloat) -> None:
        self.number = number


def violation(value: Any, annotation: Any) -> str | None:
    """`must be at least 1, got 0`; None where the annotation allows the value, or says nothing.

    Looks into lists and at the members of unions: whatever number is in the value is checked.
    """
    if isinstance(value, (list, tuple)):
        return next(filter(None, (violation(item, annotation) for item in value)), None)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    limits = list(limits_of(annotation))
    if limits and not math.isfinite(value):
        return f"must be finite, got {value}"
    broken = next((limit for limit in limits if not _holds(value, limit)), None)
    return None if broken is None else f"must be {_words(broken)}, got {value}"


def limits_of(annotation: Any) -> Iterable[Any]:
    """The limits in a type, in unions and sequences too."""
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        yield from (limit for limit in metadata if isinstance(limit, (Ge, Gt, Le, Lt, Interval)))
        yield from limits_of(inner)
    else:
        for argument in get_args(annotation):
            yield from limits_of(argument)


def limit_words(annotation: Any) -> str:
    """`at least 1`: the limits in a type, in words."""
    return " and ".join(_words(limit) for limit in limits_of(annotation) if _words(limit))


def scheduled(annotation: Any) -> Scheduled | None:
    """The mark of an argument that may be a schedule."""
    metadata = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return next((mark for mark in metadata if isinstance(mark, Scheduled)), None)


def first_violation(values: Mapping[str, Any], annotations: Mapping[str, Any]) -> str | None:
    """`batch_size must be at least 1, got 0`, of arguments by name."""
    for name, annotation in annotations.items():
        found = violation(values.get(name), annotation)
        if found is not None:
            return f"{name} {found}"
    return None


def _holds(value: float, limit: Any) -> bool:
    for one in limit if isinstance(limit, Interval) else (limit,):
        for name, allows in _COMPARISONS.items():
            if hasattr(one, name) and not allows(value, getattr(one, name)):
                return False
    return True


def _number(limit: Any) -> float:
    return float(next(getattr(limit, name) for name in _COMPARISONS if hasattr(limit, name)))


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "lt": operator.lt,
}


def _words(limit: Any) -> str:
    """As in the sentence `must be ...`."""
    if isinstance(limit, Interval):
        if limit.ge is not None and limit.le is not None:
            return f"between {limit.ge:g} and {limit.le:g}"
        return " and ".join(_words(one) for one in limit if math.isfinite(_number(one)))
    if isinstance(limit, Ge):
        return f"at least {limit.ge:g}"
    if isinstance(limit, Gt):
        return "positive" if limit.gt == 0 else f"above {limit.gt:g}"
    return f"at most {limit.le:g}" if isinstance(limit, Le) else f"below {limit.lt:g}"
