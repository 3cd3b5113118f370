"""Assembly: calls each API method of a root once with typeless records and notes what it connects.

Needs no backend and no spaces. Composition runs as plain Python; graph functions become nodes in
program order, API calls become edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from rlg.errors import AssemblyError, RLGError
from rlg.graph.core.assembly.records import (
    Call,
    Cond,
    Edge,
    Graph,
    Inline,
    Record,
    RefusalError,
    Replicate,
    Scan,
    Tree,
    Variables,
    records_in,
)
from rlg.graph.core.component.component import Component
from rlg.graph.core.component.methods import TENSOR, Method
from rlg.graph.core.component.mode import Dispatched, unknown_api


class Assembler:
    """The mode in which calls are traced into a graph."""

    def __init__(self, replicas: int = 1) -> None:
        self.replicas = replicas
        self._graphs: list[Graph] = []
        self._callers: list[tuple[Component, str]] = []

    def assemble(self, component: Component, method: Method, arguments: dict[str, Tree]) -> Graph:
        """Traces one API method; arguments are `Fresh()` for tensors, else their static values."""
        graph = Graph(method.name, component)
        with self._in(graph):
            graph.inputs = {name: mirror(value, graph, name) for name, value in arguments.items()}
            graph.outputs = self._traced(component, method, dict(graph.inputs))
        for record in records_in(graph.outputs):
            if record.graph is not graph:
                raise AssemblyError(_other_trace(component, method, "what it returns", record))
        return graph

    def expand(self, node: Inline, arguments: dict[str, Tree]) -> Graph:
        """Traces the body of a split or folded API method again, for one leaf."""
        around = node.graph
        graph = Graph(
            node.method.name,
            node.component,
            is_region=around.is_region,
            replica_of=around.replica_of,
        )
        graph.in_no_gradient = int(node.no_gradient)
        with self._in(graph):
            graph.inputs = {name: mirror(value, graph, name) for name, value in arguments.items()}
            graph.outputs = self._run(node.component, node.method, dict(graph.inputs))
        return graph

    # -- the mode ---------------------------------------------------------------------------------
    def call(
        self, component: Component, method: Method, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        where = f"{component.path_or_name}.{method.name}"
        return self._traced(component, method, tupled(method.bind(where, args, kwargs)))

    def variables(self, component: Component, trainable: bool | None) -> Record:
        record: Record = self._graph.add(Variables(self._graph, component, trainable)).outputs[0]
        return record

    def scan(
        self, component: Component, body: Callable[..., Any], carry: Tree, xs: Tree
    ) -> tuple[Tree, Tree]:
        if not leaves(xs):
            name = getattr(getattr(body, "method", body), "name", "scan")
            raise AssemblyError(
                f"{component.path_or_name}.{name}: a scan runs over the leading axis of `xs`, and "
                "they hold no record. Pass at least one, such as the steps to count."
            )
        inner = self._body(component, body, {"carry": carry, "x": xs})
        if not isinstance(inner.outputs, tuple) or len(inner.outputs) != 2:
            raise AssemblyError(
                f"{inner.component.path_or_name}.{inner.name}: the body of a scan returns (carry, "
                "y), this one returned "
                f"{_describe(inner.outputs)}. Return `carry, None` if nothing is "
                "stacked."
            )
        after, ys = inner.outputs
        if shape_of(after) != shape_of(carry):
            raise AssemblyError(
                f"{inner.component.path_or_name}.{inner.name}: the carry goes in as "
                f"{_describe(carry)} and "
                f"comes out as {_describe(after)}; a scan needs the same structure on both sides."
            )
        node = self._graph.add(Scan(self._graph, component, inner, carry, xs))
        node.outputs = tuple(Record(self._graph, node, i) for i in range(len(leaves((after, ys)))))
        outputs: tuple[Tree, Tree] = fill((after, ys), iter(node.outputs))
        return outputs

    def cond(
        self,
        component: Component,
        predicate: Tree,
        when_true: Callable[..., Any],
        when_false: Callable[..., Any],
        args: tuple[Tree, ...],
    ) -> Tree:
        if not isinstance(predicate, Record):
            raise AssemblyError(
                f"{component.path_or_name}: the predicate of a cond is {predicate!r}, a Python "
                "value. Use a plain `if` on static values."
            )
        bodies = tuple(
            self._body(component, body, dict(enumerate(args))) for body in (when_true, when_false)
        )
        first, second = (body.outputs for body in bodies)
        if shape_of(first) != shape_of(second):
            raise AssemblyError(
                f"{component.path_or_name}: the branches of a cond return {_describe(first)} and "
                f"{_describe(second)}; both must return the same structure."
            )
        node = self._graph.add(
            Cond(self._graph, component, predicate, (bodies[0], bodies[1]), args)
        )
        node.outputs = tuple(Record(self._graph, node, i) for i in range(len(leaves(first))))
        return fill(first, iter(node.outputs))

    def replicate(
        self, component: Component, body: Callable[..., Any], args: tuple[Tree, ...]
    ) -> Tree:
        method = _api_method(component, body, "replicate").method
        if self.replicas == 1:
            return body(*args)
        if self._graph.replica_of is not None:
            raise AssemblyError(
                f"{component.path_or_name}.{method.name}: it is replicated inside of "
                f"{self._graph.replica_of}, which is replicated itself. Replicate one of them."
            )
        values = tuple(map(tupled, args))
        inner = self._body(component, body, dict(enumerate(values)), is_replica=True)
        node = self._graph.add(Replicate(self._graph, component, inner, values))
        node.results = _replaced(inner.outputs, iter(node.outputs))
        return node.results

    @contextmanager
    def no_gradient(self) -> Iterator[None]:
        graph = self._graph
        graph.in_no_gradient += 1
        try:
            yield
        finally:
            graph.in_no_gradient -= 1

    def summary(self, component: Component, name: str, value: Tree, kind: str) -> None:
        if kind not in ("scalar", "histogram"):
            raise AssemblyError(
                f"{component.path_or_name}: summary {name!r} is of kind {kind!r}; use 'scalar' or "
                "'histogram'."
            )
        if self._graph.is_region:
            return  # There is no one value: a body runs several times, or not at all.
        self._graph.summaries.append((f"{component.path_or_name}/{name}", kind, value))

    # -- tracing ----------------------------------------------------------------------------------
    @property
    def _graph(self) -> Graph:
        return self._graphs[-1]

    @contextmanager
    def _in(self, graph: Graph) -> Iterator[None]:
        self._graphs.append(graph)
        try:
            yield
        finally:
            self._graphs.pop()

    def _traced(self, component: Component, method: Method, values: dict[str, Tree]) -> Any:
        mark = method.mark
        self._check(component, method, values)
        if mark.is_api:
            caller, via = self._callers[-1] if self._callers else (None, None)
            self._graph.edges.append(Edge(caller, component, method, values, via))
        if mark.is_graph_fn:
            node = self._graph.add(Call(self._graph, component, method, values))
            node.callers, outputs = tuple(self._callers), node.outputs
            return None if not outputs else outputs[0] if len(outputs) == 1 else outputs
        if mark.split or mark.fold_time:
            return self._inline(component, method, values)
        return self._run(component, method, values)

    def _run(self, component: Component, method: Method, values: dict[str, Tree]) -> Any:
        self._callers.append((component, method.name))
        try:
            return tupled(method.function(component, **values))
        except RefusalError as error:
            raise AssemblyError(f"{component.path_or_name}.{method.name}: {error}") from None
        except (RLGError, RecursionError):
            raise
        except Exception as error:
            raise unknown_api(error) or AssemblyError(
                f"{component.path_or_name}.{method.name}: {type(error).__name__} while its calls "
                "were traced: "
                f"{error}. An API method only connects calls of API methods and of its own "
                "graph functions."
            ) from error
        finally:
            self._callers.pop()

    def _inline(self, component: Component, method: Method, values: dict[str, Tree]) -> Any:
        # Traced once without spaces to learn the structure of what it returns, and thrown away.
        sketch = Graph(method.name, component)
        with self._in(sketch):
            mirrored = {name: mirror(value, sketch, name) for name, value in values.items()}
            outputs = self._run(component, method, mirrored)
        node = Inline(self._graph, component, method, values, len(leaves(outputs)))
        node.callers = tuple(self._callers)
        return fill(outputs, iter(self._graph.add(node).outputs))

    def _body(
        self,
        component: Component,
        body: Callable[..., Any],
        inputs: Mapping[Any, Tree],
        is_replica: bool = False,
    ) -> Graph:
        marked = _api_method(component, body, "scan or cond")
        graph = Graph(marked.method.name, marked.component, is_region=True)
        graph.in_no_gradient = self._graph.in_no_gradient
        graph.replica_of = self._graph.replica_of
        if is_replica:
            graph.replica_of = f"{component.path_or_name}.{graph.name}"
        with self._in(graph):
            # Loops and branches pass every value on; to replicas constants stay what they are.
            graph.inputs = {
                str(name): mirror(value, graph, str(name), constants=not is_replica)
                for name, value in inputs.items()
            }
            graph.outputs = body(*graph.inputs.values())
        return graph

    def _check(self, component: Component, method: Method, values: dict[str, Tree]) -> None:
        where = f"{component.path_or_name}.{method.name}"
        caller = self._callers[-1][0] if self._callers else component
        if not method.mark.is_api and caller is not component:
            raise AssemblyError(
                f"{where}: {caller.path_or_name} calls it, but it is a graph function of another "
                f"component. Components talk through API methods: mark it @api, or call one of "
                f"{', '.join(sorted(component.api_methods())) or 'its API methods (it has none)'}."
            )
        for parameter in method.parameters:
            value = values[parameter.name]
            is_static = parameter.kind != TENSOR
            for record in records_in(value):
                if is_static:
                    raise AssemblyError(
                        f"{where}: `{parameter.name}` is static, its value must be known when the "
                        "plan is made, but the call passes a record. Pass a Python value, or "
                        "annotate it Tensor."
                    )
                if record.graph is not self._graph:
                    raise AssemblyError(
                        _other_trace(component, method, f"`{parameter.name}`", record)
                    )


def _api_method(component: Component, body: Callable[..., Any], region: str) -> Dispatched:
    if isinstance(body, partial):  # of static values
        return _api_method(component, body.func, region)
    if isinstance(body, Dispatched) and body.method.mark.is_api:
        return body
    name = getattr(body, "__name__", repr(body))
    raise AssemblyError(
        f"{component.path_or_name}: {name} is the body of a {region}, but no API method. Pass a "
        "method marked @api, such as self.step."
    )


def _other_trace(component: Component, method: Method, what: str, record: Record) -> str:
    return (
        f"{component.path_or_name}.{method.name}: {what} is a record of "
        f"{record.graph.component.path_or_name}.{record.graph.name}, another trace. Hand it in as "
        "an argument instead of keeping it on the component."
    )


class Fresh:
    """Stands for an argument that becomes a new input of a traced graph."""


def mirror(tree: Tree, graph: Graph, name: str, constants: bool = False) -> Tree:
    """The same structure with new input records of `graph` in place of records (and constants)."""
    if isinstance(tree, Mapping):
        return {
            key: mirror(value, graph, f"{name}/{key}", constants) for key, value in tree.items()
        }
    if isinstance(tree, tuple):
        return tuple(mirror(value, graph, f"{name}/{i}", constants) for i, value in enumerate(tree))
    is_record = isinstance(tree, (Record, Fresh)) or (constants and tree is not None)
    return Record(graph, None, name=name) if is_record else tree


def tupled(tree: Tree) -> Tree:
    """Lists as tuples, as far as they hold records."""
    if isinstance(tree, list) and any(True for _ in records_in(tree)):
        tree = tuple(tree)
    if isinstance(tree, Mapping):
        return {key: tupled(value) for key, value in tree.items()}
    return tuple(tupled(value) for value in tree) if type(tree) is tuple else tree


def leaves(tree: Tree) -> list[Any]:
    """The leaves of a tree that are not None."""
    if tree is None:
        return []
    if isinstance(tree, Mapping):
        return [leaf for value in tree.values() for leaf in leaves(value)]
    if isinstance(tree, tuple):
        return [leaf for value in tree for leaf in leaves(value)]
    return [tree]


def fill(tree: Tree, values: Iterator[Any]) -> Tree:
    """The same structure with other leaves, in the order of `leaves`."""
    if tree is None:
        return None
    if isinstance(tree, Mapping):
        return {key: fill(value, values) for key, value in tree.items()}
    if isinstance(tree, tuple):
        return tuple(fill(value, values) for value in tree)
    return next(values)


def _replaced(tree: Tree, records: Iterator[Record]) -> Tree:
    """The same structure and constants with other records, in the order of `records_in`."""
    if isinstance(tree, Mapping):
        return {key: _replaced(value, records) for key, value in tree.items()}
    if isinstance(tree, tuple):
        return tuple(_replaced(value, records) for value in tree)
    return next(records) if isinstance(tree, Record) else tree


def shape_of(tree: Tree) -> Any:
    """The structure alone, comparable."""
    return fill(tree, iter(["*"] * len(leaves(tree))))


def _describe(tree: Tree) -> str:
    return repr(shape_of(tree)).replace("'*'", "record").replace("'", "")
