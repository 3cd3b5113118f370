"""Sections against signatures: config key = constructor argument, checked, converted, completed.

YAML 1.1 reads 1e-3 as text and 1e5 as a float: both are accepted where they can only mean a number.
Booleans are never accepted as numbers. Limits of numbers are in the signature too (`graph/limits`).
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from rlg.errors import SpecError
from rlg.graph.limits import limit_words, violation
from rlg.graph.registry import parameters_of
from rlg.spelling import suggestion

MISSING = inspect.Parameter.empty
_NAMES = {
    int: "an integer",
    float: "a number",
    bool: "true or false",
    str: "text",
    type(None): "null",
}
_EXAMPLES = {int: 1, float: 0.001, bool: "true", str: "name"}


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


# -- sections --------------------------------------------------------------------------------------
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
        elif argument.default is MISSING:
            raise SpecError(f"{path}: missing, but {of} needs it. Write {path}=...")
        elif complete:
            result[name] = plain(argument.default)
    return result


def mapping(value: Any, where: str, example: str) -> Mapping[str, Any]:
    """The section itself, or an error that shows what one looks like."""
    if not isinstance(value, Mapping):
        raise SpecError(f"{where}: expected a section of keys ({example}), got {value!r}.")
    return value


# -- values ----------------------------------------------------------------------------------------
class _MismatchError(Exception):
    """A value that is not of the type; who knows the key makes a message of it."""


def converted(value: Any, annotation: Any, path: str, example: Any = None) -> Any:
    """The value as the annotation asks for it, in plain types; `path` is its key, for errors."""
    try:
        found = _convert(value, annotation)
    except _MismatchError:
        shown = _example(annotation) if example is None else example
        raise SpecError(
            f"{path}: expected {describe(annotation)}, got {_shown(value)}. "
            f"Write for example {path}={_word(shown)}."
        ) from None
    wrong = violation(found, annotation)
    if wrong is not None:
        raise SpecError(f"{path}: {wrong}.")
    return found


def describe(annotation: Any, *, limits: bool = False) -> str:
    """A type in words, with the limits of numbers if wanted."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        words = limit_words(annotation) if limits else ""
        return f"{describe(arguments[0], limits=limits)}{words and f' ({words})'}"
    if origin in (Union, types.UnionType):
        return " or ".join(describe(option, limits=limits) for option in arguments)
    if origin is Literal:
        return " or ".join(map(str, arguments))
    if _is_sequence(origin or annotation):
        item = arguments[0] if arguments else Any
        return "a list" if item is Any else f"a list, each item {describe(item, limits=limits)}"
    if _is_mapping(origin or annotation):
        return "a mapping"
    return _NAMES.get(annotation, "a value")


def plain(value: Any) -> Any:
    """Lists and dicts for tuples and mappings, so that YAML and JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def _convert(value: Any, annotation: Any) -> Any:
    annotation = _inner(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _first(value, arguments)
    if origin is Literal:
        return _checked(value, value in arguments)
    if annotation in (int, float):
        return _number(value, annotation)
    if annotation in (bool, str, type(None)):
        return _checked(value, isinstance(value, annotation))
    if _is_sequence(origin or annotation):
        _checked(value, isinstance(value, (list, tuple)))
        item = arguments[0] if arguments else Any
        return [_convert(element, item) for element in value]
    if _is_mapping(origin or annotation):
        _checked(value, isinstance(value, Mapping))
    return plain(value)  # of Any, and of what only a constructor can judge, too


def _first(value: Any, options: Sequence[Any]) -> Any:
    """By the first member of a union that takes the value as it is, or else converted."""
    for option in options:
        if _inner(option) in _NAMES and type(value) is _inner(option):
            return _convert(value, option)  # "not a number" is not a number here either
    for option in options:
        try:
            return _convert(value, option)
        except _MismatchError:
            continue
    raise _MismatchError


def _inner(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _number(value: Any, kind: type) -> Any:
    _checked(value, isinstance(value, (int, float, str)) and not isinstance(value, bool))
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise _MismatchError from None
    _checked(value, not math.isnan(number))
    if kind is float:
        return number
    if isinstance(value, int):
        return value
    _checked(value, number.is_integer())
    return int(number)


def _checked(value: Any, fits: bool) -> Any:
    if not fits:
        raise _MismatchError
    return value


def _is_sequence(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Sequence) and kind is not str


def _is_mapping(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Mapping)


def _example(annotation: Any) -> Any:
    annotation = _inner(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return next(iter(_example(option) for option in arguments if option is not type(None)))
    if origin is Literal:
        return arguments[0]
    if _is_sequence(origin or annotation):
        item = _inner(arguments[0]) if arguments else Any
        return [64, 64] if item is int else [_example(item)]
    if _is_mapping(origin or annotation):
        return "{key: value}"
    return _EXAMPLES.get(annotation, "value")


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(plain(value))
    return text if len(text) <= 60 else f"{text[:57]}..."


def _word(value: Any) -> str:
    """As one types it: [64,64], true."""
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_word, value))}]"
    return _shown(value) if value is None or isinstance(value, bool) else str(value)
