"""Spaces of spaces: values in dicts and tuples, nested at will."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, NoReturn, TypeAlias

import numpy as np

from rlg.errors import SpaceError
from rlg.graph.spaces.box import Box
from rlg.graph.spaces.space import Path, Sizes, Space, listed, located

SpaceLike: TypeAlias = "Space | str | Mapping[str, Any] | list[Any] | tuple[Any, ...]"


class _Container(Space):
    """What `Dict` and `Tuple` share: frozen children by key or position."""

    __slots__ = ("_spaces",)

    _spaces: dict[Any, Space]

    @property
    def is_container(self) -> bool:
        return True

    @property
    def ranks(self) -> str | None:
        found = {child.ranks for child in self._spaces.values()}
        return found.pop() if len(found) == 1 else None

    def like(self, other: Space) -> bool:
        return (
            isinstance(other, _Container)
            and type(other) is type(self)
            and other._spaces.keys() == self._spaces.keys()
            and all(child.like(other._spaces[key]) for key, child in self._spaces.items())
        )

    def __len__(self) -> int:
        return len(self._spaces)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Container) or type(other) is not type(self):
            return NotImplemented
        return self._spaces == other._spaces

    def __hash__(self) -> int:
        return hash((type(self).__name__, *self._spaces.items()))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"A {type(self).__name__} space is frozen; make a new one.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"A {type(self).__name__} space is frozen; make a new one.")

    def _collect(self, path: Path, leaves: dict[Path, Box]) -> None:
        for key, child in self._spaces.items():
            child._collect((*path, key), leaves)

    def _first_misfit(self, values: Any, path: Path, sizes: Sizes) -> str | None:
        for key, child in self._spaces.items():
            reason = child._misfit(values[key], (*path, key), sizes)
            if reason is not None:
                return reason
        return None


class Dict(_Container):
    """Values in a dict: `Dict(a=..., b=...)` or `Dict({"a": ..., "b/c": ...})`; keys are sorted.

    Entries may be plain forms, as in `space_from_spec`.
    """

    __slots__ = ()

    def __init__(
        self, spaces: Mapping[str, SpaceLike] | None = None, /, **named: SpaceLike
    ) -> None:
        given = {} if spaces is None else spaces
        if not isinstance(given, Mapping):
            raise SpaceError(f"Dict takes a mapping from keys to spaces, but got {given!r}.")
        entries = {**given, **named}
        if not entries:
            raise SpaceError("Dict has no entries; give at least one, as in Dict(a=FloatBox()).")
        if len(entries) < len(given) + len(named):
            twice = ", ".join(repr(key) for key in sorted(given.keys() & named.keys()))
            raise SpaceError(f"Dict has two entries for {twice}; give each key once.")
        for key in entries:
            if not isinstance(key, str) or not key:
                raise SpaceError(f"Dict key {key!r}: keys are strings that aren't empty.")
        children = {str(key): _entry(key, entries[key]) for key in sorted(entries)}
        object.__setattr__(self, "_spaces", children)

    def __getitem__(self, key: str) -> Space:
        if key not in self._spaces:
            raise SpaceError(f"Dict has no key {key!r}; it has {listed(self._spaces)}.")
        return self._spaces[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._spaces)

    def __contains__(self, key: object) -> bool:
        return key in self._spaces

    def keys(self) -> KeysView[str]:
        return self._spaces.keys()

    def values(self) -> ValuesView[Space]:
        return self._spaces.values()

    def items(self) -> ItemsView[str, Space]:
        return self._spaces.items()

    def map(self, fn: Callable[[Box], Space]) -> Dict:
        return Dict({key: child.map(fn) for key, child in self.items()})

    def zeros(self, batch: int = 1, time: int = 1) -> dict[str, Any]:
        return {key: child.zeros(batch, time) for key, child in self.items()}

    def to_spec(self) -> dict[str, Any]:
        return {"type": "dict", "spaces": {key: child.to_spec() for key, child in self.items()}}

    def __repr__(self) -> str:
        return f"Dict({self._spaces!r})"

    def __reduce__(self) -> tuple[type[Dict], tuple[dict[str, Space]]]:
        return Dict, (self._spaces,)

    def _draw(self, rng: np.random.Generator, batch: int, time: int) -> dict[str, Any]:
        return {key: child._draw(rng, batch, time) for key, child in self.items()}

    def _misfit(self, value: object, path: Path, sizes: Sizes) -> str | None:
        if not isinstance(value, Mapping):
            keys = listed(self._spaces)
            reason = f"type is {type(value).__name__}, should be a dict with keys {keys}"
            return located(path, reason)
        if value.keys() != self._spaces.keys():
            found, keys = listed(value), listed(self._spaces)
            return located(path, f"keys are {found}, should be {keys}")
        return self._first_misfit(value, path, sizes)


class Tuple(_Container):
    """Values in a tuple: `Tuple(a, b)`. Entries may be plain forms, as in `space_from_spec`."""

    __slots__ = ()

    def __init__(self, *spaces: SpaceLike) -> None:
        if not spaces:
            raise SpaceError("Tuple has no entries; give at least one, as in Tuple(FloatBox()).")
        children = {position: _entry(position, space) for position, space in enumerate(spaces)}
        object.__setattr__(self, "_spaces", children)

    def __getitem__(self, position: int) -> Space:
        n = len(self)
        if not -n <= position < n:
            raise SpaceError(f"Tuple has no position {position}; its length is {n}.")
        return self._spaces[position % n]

    def __iter__(self) -> Iterator[Space]:
        return iter(self._spaces.values())

    def map(self, fn: Callable[[Box], Space]) -> Tuple:
        return Tuple(*[child.map(fn) for child in self])

    def zeros(self, batch: int = 1, time: int = 1) -> tuple[Any, ...]:
        return tuple([child.zeros(batch, time) for child in self])

    def to_spec(self) -> dict[str, Any]:
        return {"type": "tuple", "spaces": [child.to_spec() for child in self]}

    def __repr__(self) -> str:
        return f"Tuple({', '.join(map(repr, self))})"

    def __reduce__(self) -> tuple[type[Tuple], tuple[Space, ...]]:
        return Tuple, tuple(self)

    def _draw(self, rng: np.random.Generator, batch: int, time: int) -> tuple[Any, ...]:
        return tuple([child._draw(rng, batch, time) for child in self])

    def _misfit(self, value: object, path: Path, sizes: Sizes) -> str | None:
        n = len(self)
        if not isinstance(value, tuple):
            return located(path, f"type is {type(value).__name__}, should be a tuple of {n}")
        if len(value) != n:
            return located(path, f"length is {len(value)}, should be {n}")
        return self._first_misfit(value, path, sizes)


def _entry(key: str | int, space: SpaceLike) -> Space:
    if isinstance(space, Space):
        return space
    # Here, since reading a plain form needs the containers.
    from rlg.graph.spaces.spec import read_spec

    return read_spec(space, (key,))
