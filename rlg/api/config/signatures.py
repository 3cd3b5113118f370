"""Sections against signatures: config key = constructor argument, checked, converted, completed.

YAML 1.1 reads 1e-3 as text and 1e5 as a float: both are accepted where they can only mean a number.
Booleans are never accepted as numbers. Limits of numbers are in the signature too (`graph/limits`).
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from rlg.errors import RLGError, SpecError
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
TYPE: Arguments = {"type": Argument(str)}


def arguments_of(cls: type, without: Collection[str] = ()) -> Arguments:
    """The constructor's named arguments, with those that `**options` hands to base classes."""
    found = {}
    for name, p in parameters_of(cls).items():
        # A text is an annotation that could not be resolved.
        is_unknown = p.annotation is MISSING or type(p.annotation) is str
        found[name] = Argument(Any if is_unknown else p.annotation, p.default)
    return {name: argument for name, argument in found.items() if name not in without}


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


@contextmanager
def blaming(where: str, raised: Callable[[str], str] | None = None) -> Iterator[None]:
    """Errors of this block with the key that they are about; `raised` words those of others."""
    try:
        yield
    except RLGError as error:
        raise SpecError(f"{where}: {error}") from error
    except Exception as error:
        if raised is None:
            raise
        raise SpecError(f"{where}: {raised(f'{type(error).__name__}: {error}')}") from error


# -- values ----------------------------------------------------------------------------------------
class _MismatchError(Exception):
    """A value that is not of the type; who knows the key makes a message of it."""


def converted(value: Any, annotation: Any, path: str, example: Any = None) -> Any:
    """The value as the annotation asks for it, in plain types; `path` is its key, for errors."""
    try:
        found = _convert(value, annotation)
    except _MismatchError:
        shown = _example(annotation) if example in (None, []) else example
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
    words = limit_words(annotation) if limits and get_origin(annotation) is Annotated else ""
    end = f" ({words})" if words else ""
    match _kind(annotation):
        case "union", options:
            return " or ".join(describe(option, limits=limits) for option in options) + end
        case "choice", values:
            return " or ".join(map(str, values))
        case "list", (item,):
            each = "" if item is Any else f", each item {describe(item, limits=limits)}"
            return f"a list{each}{end}"
        case "mapping", _:
            return "a mapping"
        case _, parts:
            return _NAMES.get(parts[0], "a value") + end


def plain(value: Any) -> Any:
    """Lists and dicts for tuples and mappings, so that YAML and JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def _kind(annotation: Any) -> tuple[str, tuple[Any, ...]]:
    """What an annotation asks for: a union of types, a choice of values, a list of items..."""
    inner = _inner(annotation)
    origin, arguments = get_origin(inner) or inner, get_args(inner)
    if origin in (Union, types.UnionType):
        return "union", arguments
    if origin is Literal:
        return "choice", arguments
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "mapping", ()
    if isinstance(origin, type) and issubclass(origin, Sequence) and origin is not str:
        return "list", arguments[:1] or (Any,)
    return "one", (inner,)


def _inner(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _convert(value: Any, annotation: Any) -> Any:
    match _kind(annotation):
        case "union", options:
            return _first(value, options)
        case "choice", values:
            fits = value in values
        case "list", (item,) if isinstance(value, (list, tuple)):
            return [_convert(element, item) for element in value]
        case "mapping", _:
            fits = isinstance(value, Mapping)
        case "one", (cls,) if cls in (int, float):
            return _number(value, cls)
        case kind, parts:  # of Any, and of what only a constructor can judge, everything fits
            fits = kind == "one" and (parts[0] not in _NAMES or isinstance(value, parts[0]))
    if not fits:
        raise _MismatchError
    return plain(value)


def _first(value: Any, options: Sequence[Any]) -> Any:
    """By the first member of a union that takes the value as it is, or else converted."""
    for option in sorted(options, key=lambda option: type(value) is not _inner(option)):
        try:
            return _convert(value, option)
        except _MismatchError:
            continue
    raise _MismatchError


def _number(value: Any, kind: type) -> Any:
    if not isinstance(value, (int, float, str)) or isinstance(value, bool):
        raise _MismatchError
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise _MismatchError from None
    if math.isnan(number) or (kind is int and not number.is_integer()):
        raise _MismatchError
    if kind is float:
        return number
    return value if isinstance(value, int) else int(number)


def _example(annotation: Any) -> Any:
    match _kind(annotation):
        case "union", options:
            return next(_example(option) for option in options if option is not type(None))
        case "choice", values:
            return values[0]
        case "list", (item,):
            return [64, 64] if _inner(item) is int else [_example(item)]
        case "mapping", _:
            return "{key: value}"
        case _, (cls,):
            return _EXAMPLES.get(cls, "value")


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
