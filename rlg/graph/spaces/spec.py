"""Plain forms of spaces, as they stand in YAML and JSON, read into spaces.

Full forms have a `type`: `{"type": "box", "shape": [3]}`, `{"type": "dict", "spaces": {...}}`,
`{"type": "tuple", "spaces": [...]}`. Short ones: a dict without `type`, a list, and the words
"float", "int", "bool" for scalars.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from rlg.errors import SpaceError
from rlg.graph.spaces.box import BoolBox, Box, FloatBox, IntBox
from rlg.graph.spaces.containers import Dict, SpaceLike, Tuple
from rlg.graph.spaces.space import Path, Space, listed, located

S = TypeVar("S", bound=Space)

_WORDS: dict[str, Callable[[], Box]] = {"float": FloatBox, "int": IntBox, "bool": BoolBox}
_FIELDS = {
    "box": {"shape", "dtype", "low", "high", "ranks"},
    "dict": {"spaces"},
    "tuple": {"spaces"},
}


def space_from_spec(spec: SpaceLike) -> Space:
    """Reads a plain form; a space in it stays as it is. The inverse of `Space.to_spec`."""
    return read_spec(spec, ())


def read_spec(spec: object, path: Path) -> Space:
    """Reads a plain form that stands at `path`, which errors name."""
    if isinstance(spec, Space):
        return spec
    if isinstance(spec, str):
        if spec not in _WORDS:
            raise _error(path, f"Space {spec!r} is unknown; use {listed(_WORDS)} or a dict.")
        return _WORDS[spec]()
    if isinstance(spec, (list, tuple)):
        return _read_tuple(spec, path)
    if isinstance(spec, Mapping):
        return _read_typed(spec, path) if "type" in spec else _read_dict(spec, path)
    raise _error(path, f"{spec!r} is not a space; give a space, a dict, a list or a word.")


def _read_typed(spec: Mapping[str, Any], path: Path) -> Space:
    kind, fields = spec["type"], {key: value for key, value in spec.items() if key != "type"}
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise _error(
            path,
            f"Space type {kind!r} is unknown; use one of {listed(_FIELDS)}. A Dict with a key "
            "'type' is written {'type': 'dict', 'spaces': {'type': ...}}.",
        )
    if extra := fields.keys() - _FIELDS[kind]:
        raise _error(path, f"A {kind} has no {listed(extra)}; it has {listed(_FIELDS[kind])}.")
    if kind == "box":
        for side, unbounded in (("low", -math.inf), ("high", math.inf)):
            fields[side] = _fill(fields.get(side), unbounded)
        return _make(path, lambda: Box(**fields))
    spaces = fields.get("spaces")
    if kind == "dict" and isinstance(spaces, Mapping):
        return _read_dict(spaces, path)
    if kind == "tuple" and isinstance(spaces, (list, tuple)):
        return _read_tuple(spaces, path)
    form = "a dict" if kind == "dict" else "a list"
    raise _error(path, f"The `spaces` of a {kind} are {form}, but here they are {spaces!r}.")


def _read_dict(spaces: Mapping[str, Any], path: Path) -> Dict:
    entries = {key: read_spec(item, (*path, key)) for key, item in spaces.items()}
    return _make(path, lambda: Dict(entries))


def _read_tuple(spaces: list[Any] | tuple[Any, ...], path: Path) -> Tuple:
    entries = [read_spec(item, (*path, position)) for position, item in enumerate(spaces)]
    return _make(path, lambda: Tuple(*entries))


def _make(path: Path, constructor: Callable[[], S]) -> S:
    try:
        return constructor()
    except SpaceError as error:
        raise _error(path, str(error)) from None


def _error(path: Path, message: str) -> SpaceError:
    return SpaceError(located(path, message))


def _fill(bound: Any, unbounded: float) -> Any:
    """Undoes `to_spec`, which writes None for an infinity in a list."""
    if not isinstance(bound, list):
        return bound
    return [unbounded if item is None else _fill(item, unbounded) for item in bound]
