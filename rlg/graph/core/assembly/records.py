"""The typeless graph: records stand for values, nodes for what makes them.

Assembly traces API methods with records that have neither type nor shape; the build gives them
spaces. Arguments are trees: records, constants, and dicts or tuples of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from rlg.errors import AssemblyError
from rlg.graph.core.component.component import Component, walk

if TYPE_CHECKING:
    from rlg.graph.core.build.probe import Probe
    from rlg.graph.core.component.methods import Method
    from rlg.graph.spaces import Space

Tree = Any


class RefusalError(AssemblyError):
    """Python on a record; the assembler adds where."""


class Record:
    """A value to be: output `index` of `node`, or an input of the graph where node is None."""

    __slots__ = ("dims", "graph", "index", "name", "node", "space", "waiters")

    def __init__(self, graph: Graph, node: Node | None, index: int = 0, name: str = "") -> None:
        self.graph = graph
        self.node = node
        self.index = index
        self.name = name
        self.space: Space | None = None
        # Where the sizes of the ranks come from, e.g. {"B": 32} or {"B": ("states", (), 0)}.
        self.dims: dict[str, Any] = {}
        self.waiters: list[Any] = []

    def __getitem__(self, key: str | int) -> Record:
        if not isinstance(key, (str, int)):
            _refuse(f"indexing with {key!r}")
        record: Record = self.graph.add(Item(self.graph, self, key)).outputs[0]
        return record

    def __repr__(self) -> str:
        name = self.name or (self.node and self.node.label)
        return f"<record {name} {self.space or 'of no space yet'}>"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        _refuse(f"`.{name}`")

    def __iter__(self) -> NoReturn:
        _refuse("unpacking or iterating")

    def __bool__(self) -> NoReturn:
        _refuse("`if`, `and`, `or` or `not`")


def _refuse(what: str) -> NoReturn:
    raise RefusalError(
        f"{what} on a record: API methods only connect calls, their records have no value yet. Put "
        "numerical code into a method marked @graph_fn; use self.cond for branches, self.scan for "
        "loops."
    )


def _forbid(name: str) -> Any:
    def operator(self: Record, *_: Any) -> NoReturn:
        _refuse(f"`{name}`")

    return operator


for _name in (
    "add radd sub rsub mul rmul truediv rtruediv floordiv mod pow matmul neg abs lt le gt ge len "
    "float int and or invert eq ne contains rmod rpow rfloordiv rmatmul rand ror xor index"
).split():
    setattr(Record, f"__{_name}__", _forbid(_name))


class Node:
    """Something that makes records from records."""

    def __init__(self, graph: Graph, count: int) -> None:
        self.graph = graph
        self.outputs = tuple(Record(graph, self, index) for index in range(count))
        self.no_gradient = False
        self.done = False
        self.purpose = ""
        # The API methods that led here, outermost first; of what is expanded later, from there on.
        self.callers: tuple[tuple[Component, str], ...] = ()

    @property
    def label(self) -> str:
        return type(self).__name__.lower()

    def inputs(self) -> Iterator[Record]:
        """The records that must be there first."""
        yield from ()


class Call(Node):
    """One call of a graph function."""

    def __init__(
        self, graph: Graph, component: Component, method: Method, arguments: dict[str, Tree]
    ) -> None:
        super().__init__(graph, method.output_count(component))
        self.component = component
        self.method = method
        self.arguments = arguments
        # Filled in by the build: one probe for each leaf that the call is split into.
        self.probes: dict[tuple[str | int, ...], Probe] = {}
        self.folds = False

    @property
    def label(self) -> str:
        return f"{self.component.path_or_name}.{self.method.name}"

    def inputs(self) -> Iterator[Record]:
        for value in self.arguments.values():
            yield from records_in(value)


class Item(Node):
    """One element of a container record."""

    def __init__(self, graph: Graph, source: Record, key: str | int) -> None:
        super().__init__(graph, 1)
        self.source = source
        self.key = key

    def inputs(self) -> Iterator[Record]:
        yield self.source


class Variables(Node):
    """A component's variables as a Dict record."""

    def __init__(self, graph: Graph, component: Component, trainable: bool | None) -> None:
        super().__init__(graph, 1)
        self.component = component
        self.trainable = trainable
        # The components whose variables may still be missing while the graph is built.
        self.unfinished: Iterator[Component] = walk(component)

    @property
    def label(self) -> str:
        return f"{self.component.path_or_name}.variables"


class Inline(Node):
    """An API method marked `split` or `fold_time`: expanded once spaces say into what."""

    def __init__(
        self,
        graph: Graph,
        component: Component,
        method: Method,
        arguments: dict[str, Tree],
        count: int,
    ) -> None:
        super().__init__(graph, count)
        self.component = component
        self.method = method
        self.arguments = arguments
        self.bodies: dict[tuple[str | int, ...], Graph] = {}
        self.folds = False

    @property
    def label(self) -> str:
        return f"{self.component.path_or_name}.{self.method.name}"

    def inputs(self) -> Iterator[Record]:
        for value in self.arguments.values():
            yield from records_in(value)


class Scan(Node):
    """A loop over the leading axis: `body` has inputs (carry, x) and outputs (carry, y)."""

    def __init__(
        self, graph: Graph, component: Component, body: Graph, carry: Tree, xs: Tree
    ) -> None:
        super().__init__(graph, 2)
        self.component = component
        self.body = body
        self.carry = carry
        self.xs = xs

    def inputs(self) -> Iterator[Record]:
        yield from records_in(self.carry)
        yield from records_in(self.xs)


class Cond(Node):
    """A branch: two bodies on the same arguments."""

    def __init__(
        self,
        graph: Graph,
        component: Component,
        predicate: Record,
        bodies: tuple[Graph, Graph],
        arguments: tuple[Tree, ...],
    ) -> None:
        super().__init__(graph, 1)
        self.component = component
        self.predicate = predicate
        self.bodies = bodies
        self.arguments = arguments

    def inputs(self) -> Iterator[Record]:
        yield self.predicate
        for value in self.arguments:
            yield from records_in(value)


class Replicate(Node):
    """A body that runs once for each part of a batch, by replicas that share all variables."""

    def __init__(
        self, graph: Graph, component: Component, body: Graph, arguments: tuple[Tree, ...]
    ) -> None:
        super().__init__(graph, len(list(records_in(body.outputs))))
        self.component = component
        self.body = body
        self.arguments = arguments
        # The outputs in the body's structure, for whoever called.
        self.results: Tree = None

    @property
    def label(self) -> str:
        return f"{self.component.path_or_name}.{self.body.name}"

    def inputs(self) -> Iterator[Record]:
        for value in self.arguments:
            yield from records_in(value)


@dataclass(eq=False, slots=True)
class Edge:
    """One API call, for drawings and for finding out which spaces feed which component."""

    caller: Component | None
    callee: Component
    method: Method
    arguments: dict[str, Tree]
    # The API method of the caller that makes it; None from outside.
    via: str | None = None


@dataclass(eq=False, slots=True)
class Graph:
    """A straight line of nodes: one API method of a root, or the body of a region."""

    name: str
    component: Component
    inputs: dict[str, Tree] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    outputs: Tree = None
    edges: list[Edge] = field(default_factory=list)
    summaries: list[tuple[str, str, Tree]] = field(default_factory=list)
    in_no_gradient: int = 0
    # The body of a region, as opposed to what is written out in line.
    is_region: bool = False
    # The body of a replicate, or a part of one: it is called by this name in errors.
    replica_of: str | None = None

    def add(self, node: Any) -> Any:
        """Appends a node in program order."""
        node.no_gradient = self.in_no_gradient > 0
        self.nodes.append(node)
        return node


def records_in(tree: Tree) -> Iterator[Record]:
    """The records of a tree, depth first."""
    if isinstance(tree, Record):
        yield tree
    elif isinstance(tree, (tuple, list)):
        for value in tree:
            yield from records_in(value)
    elif isinstance(tree, (dict, Mapping)):  # abstract classes take long to ask
        for value in tree.values():
            yield from records_in(value)


def bodies_of(node: Node) -> list[Graph]:
    """The graphs inside a node: the body of a loop or replica, both branches, leaves of a split."""
    if isinstance(node, (Scan, Replicate)):
        return [node.body]
    if isinstance(node, Cond):
        return list(node.bodies)
    return list(node.bodies.values()) if isinstance(node, Inline) else []


def is_host_step(node: Call) -> bool:
    """Whether a call takes numpy values; it then draws from its own stream when it runs."""
    return node.component.on_host or node.method.mark.is_host


def all_nodes(graph: Graph) -> Iterator[Node]:
    """All nodes of a graph and of the regions in it, in program order."""
    for node in graph.nodes:
        yield node
        for body in bodies_of(node):
            yield from all_nodes(body)


def all_graphs(graph: Graph) -> Iterator[Graph]:
    """A graph, then the bodies of its regions and split methods."""
    yield graph
    for node in graph.nodes:
        for body in bodies_of(node):
            yield from all_graphs(body)
