"""Define-by-run: API methods and graph functions run as the Python they are, for debugging.

No plan is made. The assembled graph only tells, call by call, what can't be seen from values:
whether to split, to fold time, or to draw before a loop. Results equal the plan's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from rlg.errors import ExecutionError
from rlg.graph.core.assembly.assemble import fill, leaves
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
    bodies_of,
    is_host_step,
    records_in,
)
from rlg.graph.core.build.binding import Binding
from rlg.graph.core.build.flow import argument_spaces, fold, split
from rlg.graph.core.build.replicas import layout_of
from rlg.graph.core.component.component import Component
from rlg.graph.core.component.methods import Method
from rlg.graph.core.component.mode import installed
from rlg.graph.core.plan.aliasing import Views, owning, snapshot_leaves, watched
from rlg.graph.core.plan.draws import PlannedDraw, draws_anything, length_of, planned
from rlg.graph.core.plan.liveness import needs_gradient
from rlg.graph.core.plan.runtime import cut_leaves, fold_leaves, region_ops, unfold_leaves
from rlg.graph.spaces import Space, unflatten

Path = tuple[str | int, ...]


class Runner:
    """The mode in which calls are carried out at once."""

    def __init__(
        self,
        graphs: Sequence[Graph],
        components: Sequence[Component],
        binding: Binding,
        from_host: Callable[[Any], Any],
        no_grad: Callable[[], Any] = nullcontext,
    ) -> None:
        self._graphs = graphs
        self._components = components
        self._binding = binding
        self._from_host = from_host
        self._no_grad = no_grad
        self.has_gradients = any(needs_gradient(graph) for graph in graphs)
        self._cursors: list[Iterator[Node]] = []
        self._arguments: dict[str, Any] = {}
        # Inside regions: draws made before them, by node and leaf.
        self._draws: list[dict[str, tuple[Any, ...]]] = []
        self._is_cut = 0
        self._in_graph_fn = False

    def run(self, values: Sequence[Any]) -> Any:
        """Runs the API methods on tensors, in the order of their arguments."""
        waiting = iter(values)
        results = []
        with installed(self, self._components):
            for graph in self._graphs:
                arguments = {
                    name: next(waiting) if any(True for _ in records_in(tree)) else tree
                    for name, tree in graph.inputs.items()
                }
                self._arguments = arguments
                method = graph.component.api_methods()[graph.name]
                with self._following(graph):
                    output = self.call(graph.component, method, (), arguments)
                ops = self._binding.backend.ops_class
                results.append(_owned(ops, graph.outputs, output, Views(graph)))
        return results[0] if len(results) == 1 else tuple(results)

    # -- the mode ---------------------------------------------------------------------------------
    def call(
        self, component: Component, method: Method, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if self._in_graph_fn:  # A graph function may call others of its own component.
            return method.function(component, *args, **kwargs)
        values = method.bind(f"{component.path}.{method.name}", args, kwargs)
        mark = method.mark
        if mark.is_graph_fn:
            return self._graph_fn(self._next(Call), values)
        if mark.split or mark.fold_time:
            return self._inline(self._next(Inline), values)
        return method.function(component, **values)

    def variables(self, component: Component, trainable: bool | None) -> dict[str, Any]:
        infos = self._binding.variables_of(component, trainable)
        return {name: info.variable for name, info in infos.items()}

    def scan(
        self, component: Component, body: Callable[..., Any], carry: Any, xs: Any
    ) -> tuple[Any, Any]:
        node = self._next(Scan)
        draws = self._region_draws(node, node.body)

        def step(carry: Any, x: Any) -> tuple[Any, Any]:
            x, drawn = x
            with self._following(node.body, drawn):
                after, y = body(carry, x)
                return after, y

        outputs: tuple[Any, Any] = region_ops(component, self._binding).scan(
            step, carry, (xs, draws)
        )
        return outputs

    def cond(
        self,
        component: Component,
        predicate: Any,
        when_true: Callable[..., Any],
        when_false: Callable[..., Any],
        args: tuple[Any, ...],
    ) -> Any:
        node = self._next(Cond)
        drawn = [self._region_draws(node, body) for body in node.bodies]

        def branch(index: int, body: Callable[..., Any]) -> Callable[[], Any]:
            def run() -> Any:
                with self._following(node.bodies[index], drawn[index]):
                    return body(*args)

            return run

        return region_ops(component, self._binding).cond(
            predicate, branch(0, when_true), branch(1, when_false)
        )

    def replicate(
        self, component: Component, body: Callable[..., Any], args: tuple[Any, ...]
    ) -> Any:
        if self._binding.backend.replicas == 1:
            return body(*args)
        node = self._next(Replicate)

        def replica(part: tuple[Any, ...]) -> Any:
            with self._following(node.body):
                return body(*part)

        # One after the other: what runs here is Python that somebody wants to step through.
        return self._binding.backend.replicate(replica, args, layout_of(node), in_turn=True)

    @contextmanager
    def no_gradient(self) -> Iterator[None]:
        self._is_cut += 1
        try:
            with self._no_grad():
                yield
        finally:
            self._is_cut -= 1

    def summary(self, component: Component, name: str, value: Any, kind: str) -> None:
        """Summaries are a matter of plans."""

    # -- carrying out -----------------------------------------------------------------------------
    @contextmanager
    def _following(
        self, graph: Graph, draws: dict[str, tuple[Any, ...]] | None = None
    ) -> Iterator[None]:
        self._cursors.append(n for n in graph.nodes if not isinstance(n, (Item, Variables)))
        if draws is not None:
            self._draws.append(draws)
        try:
            yield
        finally:
            self._cursors.pop()
            if draws is not None:
                self._draws.pop()

    def _next(self, kind: type[Any]) -> Any:
        node = next(self._cursors[-1], None)
        if not isinstance(node, kind):
            raise ExecutionError(
                f"define-by-run left the assembled graph: expected {node and node.label}. API "
                "methods must make the same calls every time; decide by configuration or static "
                "arguments."
            )
        return node

    def _graph_fn(self, node: Call, values: dict[str, Any]) -> Any:
        component, method = node.component, node.method
        parts: dict[Path, Any] = {(): None}
        template: Space | None = None
        if method.mark.split:
            parts, template = split(node.label, argument_spaces(node))
        results: list[dict[Path, Any]] = [{} for _ in node.outputs]
        for path in parts:
            arguments, like = _for_leaf(node, values, path)
            self._feed(node, path)
            self._in_graph_fn = True
            try:
                outputs = self._function(node, path, arguments)(*arguments.values())
            finally:
                self._in_graph_fn = False
                component.ops.feed = None  # type: ignore[attr-defined]
            for index, output in enumerate((outputs,) if len(node.outputs) == 1 else outputs or ()):
                if like is not None:
                    output = _unfolded(
                        component.ops, output, node.probes[path].outputs[index], like
                    )
                results[index][path] = cut_leaves(component.ops, output) if self._is_cut else output
        merged = tuple(by[()] if template is None else unflatten(by) for by in results)
        return None if not merged else merged[0] if len(merged) == 1 else merged

    def _function(self, node: Call, path: Path, arguments: Mapping[str, Any]) -> Callable[..., Any]:
        def function(*values: Any) -> Any:
            named = dict(zip(arguments, values, strict=True))
            return node.method.function(node.component, **named)

        function = watched(node, owning(node, function, self._binding), self._binding)
        if not is_host_step(node):
            return function
        return self._binding.backend.hosted(function, node.probes[path].outputs)

    def _inline(self, node: Inline, values: dict[str, Any]) -> Any:
        spaces = argument_spaces(node)
        parts, template = (
            split(node.label, spaces) if node.method.mark.split else ({(): spaces}, None)
        )
        by_path: dict[Path, Any] = {}
        for path in parts:
            arguments, like = _for_leaf(node, values, path)
            with self._following(node.bodies[path]):
                output = node.method.function(node.component, **arguments)
            outer = leaves(node.bodies[path].outputs)
            if like is not None:
                flat = iter(
                    _unfolded(node.component.ops, value, record.space, like)
                    for value, record in zip(leaves(output), outer, strict=True)
                )
                output = fill(output, flat)
            by_path[path] = output
        if template is None:
            return by_path[()]
        first = next(iter(by_path.values()))
        count = len(leaves(first))
        joined = [unflatten({p: leaves(o)[i] for p, o in by_path.items()}) for i in range(count)]
        return fill(first, iter(joined))

    # -- draws ------------------------------------------------------------------------------------
    def _feed(self, node: Call, path: Path) -> None:
        if self._draws and node.probes[path].draws and not is_host_step(node):
            component: Any = node.component
            component.ops.feed = list(self._draws[-1][_name(node, path)])

    def _region_draws(self, node: Scan | Cond, body: Graph) -> dict[str, tuple[Any, ...]]:
        """The draws of a body: made now, or, inside another region, sliced from what that made."""
        if self._draws:
            inside = {f"{id(inner)}:" for inner in all_nodes(body)}
            return {k: v for k, v in self._draws[-1].items() if k[: k.index(":") + 1] in inside}
        lead = (length_of(node),) if isinstance(node, Scan) and draws_anything(body) else ()
        return self._draw_all(body, lead)

    def _draw_all(self, graph: Graph, lead: tuple[Any, ...]) -> dict[str, tuple[Any, ...]]:
        found: dict[str, tuple[Any, ...]] = {}
        for node in graph.nodes:
            if isinstance(node, Call) and not is_host_step(node):
                for path, probe in node.probes.items():
                    plans = [planned(node, draw, self._binding.streams) for draw in probe.draws]
                    if plans:
                        found[_name(node, path)] = tuple(
                            self._make(p.repeated(*lead)) for p in plans
                        )
            is_loop = isinstance(node, Scan) and draws_anything(node.body)
            inner = (*lead, length_of(node)) if is_loop else lead  # type: ignore[arg-type]
            for body in bodies_of(node):
                found.update(self._draw_all(body, inner))
        return found

    def _make(self, draw: PlannedDraw) -> Any:
        return self._from_host(draw.make(self._arguments))


def _name(node: Call, path: Path) -> str:
    return f"{id(node)}:{path}"


def _owned(ops: Any, tree: Tree, value: Any, views: Views) -> Any:
    """What leaves the graph, with copies of what is a view of an argument or a variable."""
    if isinstance(tree, Record):
        return snapshot_leaves(ops, value) if tree in views else value
    if isinstance(tree, Mapping):
        return {key: _owned(ops, tree[key], value[key], views) for key in tree}
    if isinstance(tree, tuple):
        return tuple(_owned(ops, t, v, views) for t, v in zip(tree, value, strict=True))
    return value


def _for_leaf(
    node: Call | Inline, values: dict[str, Any], path: Path
) -> tuple[dict[str, Any], Any]:
    """The arguments for one leaf, folded if need be, and what to unfold by."""
    spaces, like, found = argument_spaces(node), None, {}
    for name, value in values.items():
        space = spaces[name]
        if isinstance(space, Space):
            if node.method.mark.split and space.is_container:
                for key in path:
                    value = value[key]
                space = space.flatten()[path]
            if node.folds and fold(node.label, {"x": space})[0]:
                leaf = next(p for p, box in space.flatten().items() if len(box.ranks) == 2)
                if like is None:
                    like = value
                    for key in leaf:
                        like = like[key]
                value = fold_leaves(node.component.ops, value, space)
        found[name] = value
    return found, like


def _unfolded(ops: Any, value: Any, space: Space | None, like: Any) -> Any:
    assert space is not None
    is_folded = any(box.ranks == "F" for box in space.flatten().values())
    return unfold_leaves(ops, value, like, space) if is_folded else value
