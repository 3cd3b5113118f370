"""Single values: from what YAML and command lines give to what an annotation asks for.

YAML 1.1 reads 1e-3 as text and 1e5 as a float: both are accepted where they can only mean a number.
A yes or no is never a number.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

from rlg.errors import SpecError

_NAMES = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    type(None): "null",
}
_EXAMPLES = {int: 1, float: 0.001, bool: "true", str: "name"}


class _MismatchError(Exception):
    """A value that is not of the type; who knows the key makes a message of it."""


def converted(value: Any, annotation: Any, path: str, example: Any = None) -> Any:
    """The value as the annotation asks for it, in plain types; `path` is its key, for errors."""
    try:
        return _convert(value, annotation)
    except _MismatchError:
        wanted = describe(annotation)
        shown = _example(annotation) if example is None else example
        raise SpecError(
            f"{path}: {_shown(value)} is given, but it takes {wanted}. "
            f"Write for example {path}={_word(shown)}."
        ) from None


def describe(annotation: Any) -> str:
    """A type in words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return " or ".join(describe(option) for option in arguments)
    if origin is Literal:
        return " or ".join(map(str, arguments))
    if _is_sequence(origin or annotation):
        item = arguments[0] if arguments else Any
        return "a list" if item is Any else f"a list, each item {describe(item)}"
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
        if option in _NAMES and type(value) is option:
            return _convert(value, option)  # not a number is no number here either
    for option in options:
        try:
            return _convert(value, option)
        except _MismatchError:
            continue
    raise _MismatchError


def _number(value: Any, kind: type) -> Any:
    _checked(value, isinstance(value, (int, float, str)) and not isinstance(value, bool))
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise _MismatchError from None
    if number != number:
        raise _MismatchError
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
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return next(iter(_example(option) for option in arguments if option is not type(None)))
    if origin is Literal:
        return arguments[0]
    if _is_sequence(origin or annotation):
        item = arguments[0] if arguments else Any
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
