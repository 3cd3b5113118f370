"""Sections against signatures: config key = constructor argument, checked, converted, completed."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rlg.api.config.ranges import check_range
from rlg.api.config.values import converted, plain
from rlg.errors import SpecError
from rlg.graph.registry import parameters_of
from rlg.spelling import suggestion

MISSING = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Argument:
    """One key that a section may have."""

    annotation: Any = Any
    default: Any = MISSING


Arguments = dict[str, Argument]


def arguments_of(cls: type, without: Collection[str] = ()) -> Arguments:
    """The constructor's named arguments, with those that `**options` hands to base classes."""
    return {
        name: Argument(Any if _says_nothing(p.annotation) else p.annotation, p.default)
        for name, p in parameters_of(cls).items()
        if name not in without
    }


def _says_nothing(annotation: Any) -> bool:
    """None is given, or one that could not be resolved."""
    return annotation is MISSING or isinstance(annotation, str)


def check_keys(given: Collection[str], known: Collection[str], where: str, of: str) -> None:
    """Refuses keys that are not known; `of` says whose keys they are."""
    prefix = f"{where}." if where else ""
    for key in given:
        if key not in known:
            raise SpecError(
                f"{prefix}{key}: there is no such key.{suggestion(str(key), known)} "
                f"Keys of {of}: {', '.join(known)}."
            )


def checked(
    section: Mapping[str, Any], arguments: Arguments, where: str, of: str, *, complete: bool = True
) -> dict[str, Any]:
    """The section with converted values and, if `complete`, the defaults of what it leaves out."""
    check_keys(section, arguments, where, of)
    result = {}
    for name, argument in arguments.items():
        path = f"{where}.{name}" if where else name
        if name in section:
            default = None if argument.default is MISSING else argument.default
            result[name] = converted(section[name], argument.annotation, path, default)
            check_range(path, result[name])
        elif argument.default is MISSING:
            raise SpecError(f"{path}: it is missing, but {of} needs it. Write {path}=...")
        elif complete:
            result[name] = plain(argument.default)
    return result


def mapping(value: Any, where: str, example: str) -> Mapping[str, Any]:
    """The section itself, or an error that shows what one looks like."""
    if not isinstance(value, Mapping):
        raise SpecError(f"{where}: {value!r} is given, but it is a section of keys: {example}.")
    return value
