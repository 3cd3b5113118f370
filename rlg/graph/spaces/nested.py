"""Value trees: numpy arrays, tensors or anything else in nested dicts and tuples.

Only dicts (with string keys) and tuples are inner nodes; all else, lists included, is a leaf. The
order is that of `Space.flatten`: depth first, dict keys sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rlg.errors import SpaceError
from rlg.graph.spaces.containers import Dict, Tuple
from rlg.graph.spaces.space import Path, listed, located, path_name

__all__ = ["flatten", "map_leaves", "path_name", "unflatten"]


def flatten(value: Any) -> dict[Path, Any]:
    """Leaves by path; a leaf is `{(): leaf}`. Empty dicts and tuples leave no trace."""
    leaves: dict[Path, Any] = {}
    _collect(value, (), leaves)
    return leaves


def unflatten(flat: Mapping[Path, Any], template: Any = None) -> Any:
    """Builds the tree of these leaves: the inverse of `flatten`.

    Its structure is that of `template`, a space or a value tree. Without one the paths tell:
    integers make tuples, strings make dicts.
    """
    if template is None:
        return _grow(flat)
    used: list[Path] = []
    tree = _fill(flat, template, (), used)
    if len(used) < len(flat):
        extra = listed(path_name(path) for path in flat.keys() - set(used))
        raise SpaceError(f"Leaves {extra} have no place in the template; leave them out.")
    return tree


def map_leaves(fn: Callable[..., Any], first: Any, *rest: Any) -> Any:
    """Calls `fn` on the leaves of `first` and those at the same places of all others.

    One of the others may be a single leaf: it then goes with every leaf of `first`.
    """
    if not isinstance(first, (dict, tuple)):
        for other in rest:
            if isinstance(other, (dict, tuple)):
                raise _mismatch((), first, other)
        return fn(first, *rest)
    return _map(fn, first, [_spread(other, first) for other in rest], ())


def _collect(value: Any, path: Path, leaves: dict[Path, Any]) -> None:
    if isinstance(value, dict):
        for key in _sorted_keys(value, path):
            _collect(value[key], (*path, key), leaves)
    elif isinstance(value, tuple):
        for position, item in enumerate(value):
            _collect(item, (*path, position), leaves)
    else:
        leaves[path] = value


def _map(fn: Callable[..., Any], first: Any, rest: list[Any], path: Path) -> Any:
    if isinstance(first, dict):
        for other in rest:
            if not isinstance(other, dict) or other.keys() != first.keys():
                raise _mismatch(path, first, other)
        return {
            key: _map(fn, first[key], [other[key] for other in rest], (*path, key))
            for key in _sorted_keys(first, path)
        }
    if isinstance(first, tuple):
        for other in rest:
            if not isinstance(other, tuple) or len(other) != len(first):
                raise _mismatch(path, first, other)
        return tuple(
            [
                _map(fn, item, [other[position] for other in rest], (*path, position))
                for position, item in enumerate(first)
            ]
        )
    for other in rest:
        if isinstance(other, (dict, tuple)):
            raise _mismatch(path, first, other)
    return fn(first, *rest)


def _spread(value: Any, tree: Any) -> Any:
    """Repeats a single leaf at all places of a tree; a tree stays as it is."""
    if isinstance(value, (dict, tuple)):
        return value
    return _map(lambda _: value, tree, [], ())


def _fill(flat: Mapping[Path, Any], template: Any, path: Path, used: list[Path]) -> Any:
    if isinstance(template, (dict, Dict)):
        return {key: _fill(flat, template[key], (*path, key), used) for key in sorted(template)}
    if isinstance(template, (tuple, Tuple)):
        return tuple(
            [_fill(flat, item, (*path, place), used) for place, item in enumerate(template)]
        )
    if path not in flat:
        found = listed(map(path_name, flat))
        raise SpaceError(f"No leaf for '{path_name(path)}'; there are only {found or 'none'}.")
    used.append(path)
    return flat[path]


class _Branch(dict[str | int, Any]):
    """An inner node under construction; leaves may be dicts too."""

    __slots__ = ()


def _grow(flat: Mapping[Path, Any]) -> Any:
    if () in flat:
        if len(flat) > 1:
            raise SpaceError("There is a leaf at the root, so there can be no others beside it.")
        return flat[()]
    root = _Branch()
    for path, leaf in flat.items():
        node: Any = root
        for key in path[:-1]:
            node = node.setdefault(key, _Branch())
            if not isinstance(node, _Branch):
                raise _clash(path)
        if path[-1] in node:
            raise _clash(path)
        node[path[-1]] = leaf
    return _settle(root, ())


def _settle(node: Any, path: Path) -> Any:
    """Turns branches into dicts and tuples."""
    if not isinstance(node, _Branch):
        return node
    if all(isinstance(key, str) for key in node):
        return {key: _settle(node[key], (*path, key)) for key in sorted(node, key=str)}
    if node.keys() == set(range(len(node))):
        return tuple([_settle(node[place], (*path, place)) for place in range(len(node))])
    message = f"keys are {listed(node)}; they must be all strings, or 0, 1, 2... without gaps."
    raise SpaceError(located(path, message))


def _sorted_keys(value: dict[Any, Any], path: Path) -> list[str]:
    for key in value:
        if not isinstance(key, str):
            raise SpaceError(located(path, f"dict key {key!r}: keys of a value tree are strings."))
    return sorted(value)


def _clash(path: Path) -> SpaceError:
    return SpaceError(f"'{path_name(path)}' passes through another leaf; rename one of them.")


def _mismatch(path: Path, first: Any, other: Any) -> SpaceError:
    trees = f"{_outline(first)} and {_outline(other)}"
    return SpaceError(located(path, f"value trees differ: {trees}. Give equal structures."))


def _outline(value: Any) -> str:
    if isinstance(value, dict):
        return f"a dict with keys {listed(value) or 'none'}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return f"a leaf ({type(value).__name__})"
