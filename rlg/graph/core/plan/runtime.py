"""What plans call besides graph functions: folds, cuts and copies of whole trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rlg.graph.core.assembly.records import Call, Item, Record, Tree, Variables, records_in
from rlg.graph.core.build.binding import Binding


def fold_leaves(ops: Any, value: Any, space: Any = None) -> Any:
    """Merges batch and time in every leaf."""
    if isinstance(value, Mapping):
        return {key: fold_leaves(ops, item, space[key]) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(fold_leaves(ops, item, space[i]) for i, item in enumerate(value))
    return ops.fold_time(value) if space is None or len(space.ranks) == 2 else value


def unfold_leaves(ops: Any, value: Any, like: Any, space: Any = None) -> Any:
    """Takes batch and time apart again in every leaf."""
    if isinstance(value, Mapping):
        return {key: unfold_leaves(ops, item, like, space[key]) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(unfold_leaves(ops, item, like, space[i]) for i, item in enumerate(value))
    return ops.unfold_time(value, like) if space is None or space.ranks == "F" else value


def cut_leaves(ops: Any, value: Any) -> Any:
    """Cuts gradients off in every leaf."""
    if isinstance(value, Mapping):
        return {key: cut_leaves(ops, item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(cut_leaves(ops, item) for item in value)
    return ops.stop_gradient(value)


def snapshot_leaves(ops: Any, value: Any) -> Any:
    """Copies of every leaf: variables and arguments must not leave a plan as themselves."""
    if isinstance(value, Mapping):
        return {key: snapshot_leaves(ops, item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(snapshot_leaves(ops, item) for item in value)
    return ops.value_of(value)


def owning(node: Call, function: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    """A graph function whose results stay as they are when variables change later.

    A view of a variable is copied at once, not at the end of the plan: between the two a later
    call may write into the variable, and on TensorFlow, which has no views, nobody would see it.
    """
    component, method = node.component, node.method
    ops, backend = component.ops, binding.backend
    if any(_shares_variables(node, name) for p in node.probes.values() for name in p.shares):
        return lambda *args, **kwargs: snapshot_leaves(ops, function(*args, **kwargs))
    own = [info.variable for info in binding.own_variables(component)]
    if method.mark.spaces is None or method.mark.is_host or not own or not backend.has_views(ops):
        return function
    # Declared outputs were never seen in a dry run: look at them each time.
    return lambda *args, **kwargs: _apart(backend, ops, function(*args, **kwargs), own)


def _shares_variables(node: Call, argument: str) -> bool:
    return argument == "" or any(map(_is_variable, records_in(node.arguments[argument])))


def _is_variable(record: Record) -> bool:
    node = record.node
    while isinstance(node, Item):
        node = node.source.node
    return isinstance(node, Variables)


def _apart(backend: Any, ops: Any, value: Tree, variables: Sequence[Any]) -> Tree:
    if isinstance(value, Mapping):
        return {key: _apart(backend, ops, item, variables) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(_apart(backend, ops, item, variables) for item in value)
    shared = any(backend.shares_memory(value, variable) for variable in variables)
    return ops.value_of(value) if shared else value
