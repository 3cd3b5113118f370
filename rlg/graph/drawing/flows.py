"""Which values go from where to where: the data flow behind the API calls.

Assembly knows the calls of graph functions; loops, branches and split methods are looked through,
so that each flow leads from the function that makes a value to one that takes it. Calls of one
function are merged: a flow says which API methods of the roots it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

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
    bodies_of,
    records_in,
)
from rlg.graph.core.component.component import Component
from rlg.graph.drawing.picture import api_name, wanted
from rlg.graph.drawing.words import full, short
from rlg.graph.spaces import Box

if TYPE_CHECKING:
    from rlg.graph.core.build.builder import Builder

Kind = Literal["function", "variables", "input", "output"]
Stack = tuple[tuple[Component, str], ...]


class Point(NamedTuple):
    """Where a value comes from or goes to: a graph function; or an argument of a root's API."""

    component: Component
    name: str
    kind: Kind = "function"
    # The argument's name, of inputs.
    argument: str = ""


@dataclass(slots=True, eq=False)
class Flow:
    """A value between two points, with the API methods on the way to them, outermost first."""

    source: Point
    target: Point
    label: str
    space: str
    leaving: Stack
    entering: Stack
    # Of a single tensor; -1 for its ranks.
    shape: tuple[int, ...] | None = None
    # The API methods of roots that it takes part in.
    apis: dict[str, None] = field(default_factory=dict)


def flows(builder: Builder, api: str | None = None) -> list[Flow]:
    """All flows between different points, in the order of the program."""
    found: dict[object, Flow] = {}
    for graph in wanted(builder, api):
        for flow in _Tracer(graph).flows():
            key = (_key(flow.source), _key(flow.target), flow.label, flow.leaving, flow.entering)
            if _key(flow.source) != _key(flow.target):
                kept = found.setdefault(key, flow)
                kept.apis[api_name(builder, graph)] = None
    return list(found.values())


def _key(point: Point) -> object:
    return id(point.component), *point[1:]


class _Tracer:
    """Follows records of one root's graph back to where they come from."""

    def __init__(self, graph: Graph) -> None:
        self._root = graph
        # The node around each body, and the whole stack of API methods of each graph function.
        self._around: dict[int, Node] = {}
        self._stacks: dict[int, Stack] = {}
        self._known: dict[int, list[tuple[Point, Stack]]] = {}
        self._calls: list[Call] = []
        self._enter(graph, ())

    def flows(self) -> Iterator[Flow]:
        for call in self._calls:
            target, stack = Point(call.component, call.method.name), self._stacks[id(call)]
            into = [f for n, t in call.arguments.items() for f in self._into(t, target, stack, n)]
            yield from into
            if all(flow.source.kind == "variables" for flow in into):
                # Nothing feeds it: it is where the API method begins.
                start = Point(self._root.component, self._root.name, "input")
                yield Flow(start, target, "", "", (), stack)
        output = Point(self._root.component, self._root.name, "output")
        yield from self._into(self._root.outputs, output, (), "")

    def _into(self, tree: Tree, target: Point, stack: Stack, name: str) -> Iterator[Flow]:
        for record in records_in(tree):
            words = f"{name}: {full(record)}" if name else full(record)
            box = record.space
            shape = (*(-1 for _ in box.ranks), *box.shape) if isinstance(box, Box) else None
            for source, leaving in self._origins(record):
                yield Flow(source, target, short(record), words, leaving, stack, shape)

    def _enter(self, graph: Graph, outer: Stack) -> None:
        for node in graph.nodes:
            self._stacks[id(node)] = (*outer, *node.callers)
            if isinstance(node, Call):
                self._calls.append(node)
            for body in bodies_of(node):
                self._around[id(body)] = node
                # The body of a split method is traced again by itself, and knows no callers.
                self._enter(body, self._stacks[id(node)] if isinstance(node, Inline) else outer)

    def _origins(self, record: Record) -> list[tuple[Point, Stack]]:
        known = self._known.get(id(record))
        if known is None:
            self._known[id(record)] = []  # a loop's carry comes from the loop itself
            unique = {(_key(p), stack): (p, stack) for p, stack in self._trace(record)}
            known = self._known[id(record)] = list(unique.values())
        return known

    def _trace(self, record: Record) -> Iterator[tuple[Point, Stack]]:
        node = record.node
        if isinstance(node, Call):
            yield Point(node.component, node.method.name), self._stacks[id(node)]
        elif isinstance(node, Variables):
            yield Point(node.component, "variables", "variables"), ()
        elif isinstance(node, Item):
            yield from self._origins(node.source)
        elif node is not None:
            for body in bodies_of(node):
                outputs = list(records_in(body.outputs))
                # Split and branching bodies give what the node gives, one for one.
                own = [outputs[record.index]] if len(outputs) == len(node.outputs) else outputs
                for output in own:
                    yield from self._origins(output)
        elif record.graph is self._root:
            name = record.name.partition("/")[0]
            yield Point(self._root.component, self._root.name, "input", name), ()
        else:
            for given in records_in(self._given(record)):
                yield from self._origins(given)

    def _given(self, record: Record) -> Tree:
        """What a body's input stands for outside."""
        node, name = self._around[id(record.graph)], record.name.partition("/")[0]
        if isinstance(node, Scan):
            # The carry also comes from the step before.
            return (node.carry, node.body.outputs[0]) if name == "carry" else node.xs
        if isinstance(node, (Cond, Replicate)):
            return node.arguments[int(name)]
        assert isinstance(node, Inline)
        return node.arguments[name]
