"""Results that would be views: of arguments, which belong to the caller, or of variables.

Whether memory is passed on is known before anything runs: dry runs show it call by call, and the
graph shows what was called with what. So plans copy what needs it, and nothing is checked at run
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rlg.graph.core.assembly.assemble import leaves
from rlg.graph.core.assembly.records import (
    Call,
    Cond,
    Graph,
    Inline,
    Item,
    Node,
    Record,
    Replicate,
    Scan,
    Tree,
    Variables,
    all_nodes,
    records_in,
)
from rlg.graph.core.build.binding import Binding


class Views:
    """Tells which records of a graph may be views of its arguments or of variables."""

    def __init__(self, graph: Graph) -> None:
        # What goes into the bodies of regions and split methods, by their own input records.
        self._outer: dict[int, list[Record]] = {}
        for node in all_nodes(graph):
            for inner, outer in _entries(node):
                self._outer.setdefault(id(inner), []).extend(records_in(outer))
        self._known: dict[int, bool] = {}

    def __contains__(self, record: Record) -> bool:
        key = id(record)
        if key not in self._known:
            self._known[key] = False  # A loop's carry leads back to itself.
            self._known[key] = self._is_view(record)
        return self._known[key]

    def _is_view(self, record: Record) -> bool:
        node = record.node
        if isinstance(node, Variables):
            return True
        if node is None:
            outer = self._outer.get(id(record))
            return outer is None or any(source in self for source in outer)
        return any(source in self for source in _sources(node, record.index))


def _entries(node: Node) -> Iterator[tuple[Record, Tree]]:
    """The inputs of bodies inside a node, each with what it is outside."""
    if isinstance(node, Inline):
        for body in node.bodies.values():
            for name, record in body.inputs.items():
                if isinstance(record, Record):
                    yield record, node.arguments[name]
    elif isinstance(node, Cond):
        for body in node.bodies:
            for inputs, outer in zip(body.inputs.values(), node.arguments, strict=True):
                yield from zip(leaves(inputs), leaves(outer), strict=True)
    elif isinstance(node, Scan):
        after, _ = node.body.outputs
        for carry in (node.carry, after):
            yield from zip(leaves(node.body.inputs["carry"]), leaves(carry), strict=True)
        yield from zip(leaves(node.body.inputs["x"]), leaves(node.xs), strict=True)


def _sources(node: Node, index: int) -> Iterator[Record]:
    """The records whose memory output `index` of a node may be."""
    if isinstance(node, Call) and node.method.mark.spaces is None:
        names = {name for probe in node.probes.values() for name in probe.shares}
        yield from records_in([node.arguments[name] for name in names if name])
    elif isinstance(node, Inline):
        for body in node.bodies.values():
            yield from records_in(leaves(body.outputs)[index])
    elif isinstance(node, Cond):
        for body in node.bodies:
            yield from records_in(leaves(body.outputs)[index])
    elif isinstance(node, Replicate):
        return  # Parts are put together or averaged: always new.
    elif isinstance(node, Scan):
        # What a loop stacks is new; its carry may be what it began with.
        carries = leaves(node.body.outputs[0])
        yield from records_in([node.carry, carries[index]] if index < len(carries) else ())
    else:
        yield from node.inputs()  # Items, and functions that were never seen in a dry run.


def owning(node: Call, function: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    """A graph function whose results stay as they are when variables change later.

    A view of a variable is copied at once, not at the end of the plan: between the two a later
    call may write into the variable, and on TensorFlow, which has no views, nobody would see it.
    """
    component, method = node.component, node.method
    ops, backend = component.ops, binding.backend
    own = [info.variable for info in binding.own_variables(component)]
    shares = any(_shares_variables(node, name) for p in node.probes.values() for name in p.shares)
    if not shares and (
        method.mark.spaces is None or method.mark.is_host or not own or not backend.has_views(ops)
    ):
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        outputs = function(*args, **kwargs)
        if shares:
            return snapshot_leaves(ops, outputs)
        # Declared outputs were never seen in a dry run: look at them each time.
        return _apart(backend, ops, outputs, own)

    call.__self__ = component  # type: ignore[attr-defined]  # As a bound method says whose it is.
    return call


def watched(node: Call, function: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    """A graph function as whoever watches this backend wants it to run."""
    watch = binding.backend.watch
    return function if watch is None else watch(node.label, function)


def snapshot_leaves(ops: Any, value: Any) -> Any:
    """Copies of every leaf, of arrays (host steps) and of the backend's tensors."""
    if isinstance(value, Mapping):
        return {key: snapshot_leaves(ops, item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(snapshot_leaves(ops, item) for item in value)
    return np.copy(value) if isinstance(value, (np.ndarray, np.generic)) else ops.value_of(value)


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
