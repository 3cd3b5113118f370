"""The build: spaces flow breadth-first through the assembled graph until every record has one.

A component is input-complete when the spaces that its `create_variables` asks for are known; then
its variables are made, once, and its graph functions can be run dry for their output spaces. Each
node and component waits for one missing thing at a time, so the work is linear in the size of the
graph.
"""

from __future__ import annotations

import inspect
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, product
from typing import Any

from rlg.errors import BuildError
from rlg.graph.core.assembly.assemble import Assembler, Fresh
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
from rlg.graph.core.build import diagnose, flow, replicas
from rlg.graph.core.build.binding import Backend, Binding, DeviceMap, check_prefixes
from rlg.graph.core.build.probe import Prober
from rlg.graph.core.component.component import Component, name_trees
from rlg.graph.core.component.methods import SIZE, STATIC, TENSOR, Method
from rlg.graph.core.component.mode import Switch, installed
from rlg.graph.spaces import Space, space_from_spec
from rlg.spelling import suggestion

# The value that a `Size` argument of a root has while the graph is built.
ANY_SIZE = 32


@dataclass(eq=False, slots=True)
class Site:
    """A component on its way through the build."""

    component: Component
    needs: dict[str, bool]
    api_arguments: set[str]
    feeds: dict[str, list[Tree]] = field(default_factory=dict)
    spaces: dict[str, Space | None] = field(default_factory=dict)
    is_complete: bool = False
    is_called: bool = False
    waiters: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class BuildStatistics:
    """Seconds per phase and sizes, as the executors report them."""

    components: int = 0
    nodes: int = 0
    variables: int = 0
    assembly: float = 0.0
    build: float = 0.0
    # Emitting plans and, on static-graph backends, tracing them: on first use of each.
    plans: float = 0.0


class Builder:
    """Assembles and builds roots on a backend; kept to trace further variants later."""

    def __init__(
        self,
        roots: Component | Sequence[Component],
        spaces: Mapping[str, Any],
        backend: Backend,
        *,
        devices: DeviceMap,
        seed: int = 0,
        apis: Sequence[str] | None = None,
        at: str | None = None,
        role: Sequence[str | int] = (),
    ) -> None:
        self.roots = [roots] if isinstance(roots, Component) else list(roots)
        self.backend = backend
        self.binding = Binding(backend, devices, seed, role)
        self.statistics = BuildStatistics()
        self.components = name_trees(self.roots, at)
        self.spaces = {key: _as_space(value) for key, value in spaces.items()}
        # The names of the API methods that are built; None: all of the roots'.
        self.apis = apis
        self._sites = {
            id(part): Site(part, _needs(type(part).create_variables), _api_arguments(part))
            for part in self.components
        }
        self._assembler = Assembler(backend.replicas)
        self._switch = Switch(self._assembler)
        self._prober = Prober(self._switch)
        self._queue: deque[Node | Site] = deque()
        self._pending: dict[int, Node] = {}
        self._graphs: dict[Any, Graph] = {}

    # -- what executors ask -----------------------------------------------------------------------
    def build(self) -> None:
        """Assembles every API method of every root and flows the spaces through."""
        check_prefixes(self.binding.devices, self.components)
        wanted = list(self._wanted())
        diagnose.check_given(self.spaces, [(root, method) for root, method in wanted], self.roots)
        for component in self.components:
            self.binding.bind(component)
        try:
            self._build(wanted)
        except BaseException:
            # What was not built can be fixed and built again.
            for component in self.components:
                component._binding = None
            raise

    def _build(self, wanted: Sequence[tuple[Component, Method]]) -> None:
        with installed(self._switch, self.components), self.backend.probing():
            started = time.perf_counter()
            graphs = {
                _key(root, method, values): self._assemble(root, method, values)
                for root, method in wanted
                for values in self._variants(root, method)
            }
            assembled = time.perf_counter()
            self._flow(list(graphs.values()))
            self._graphs.update(graphs)
        self.statistics.assembly = assembled - started
        self.statistics.build = time.perf_counter() - assembled
        self.statistics.components = len(self.components)
        self.statistics.variables = len(self.binding.variables)

    @property
    def graphs(self) -> list[Graph]:
        """All graphs so far: one for each variant of an API method that was built or called."""
        return list(self._graphs.values())

    def graph_of(self, root: Component, method: Method, values: dict[str, Any]) -> Graph:
        """The graph for these static values and present tensors, traced now if it is new."""
        graph = self._graphs.get(_key(root, method, values))
        if graph is None:
            with installed(self._switch, self.components), self.backend.probing():
                graph = self._assemble(root, method, values)
                try:
                    self._flow([graph])
                except BaseException:
                    self._pending.clear()
                    self._queue.clear()
                    raise
                self._graphs[_key(root, method, values)] = graph
        return graph

    def space_of_argument(self, method: Method, name: str) -> Space:
        """The space that was given for an argument of a root's API method."""
        space = self.spaces.get(f"{method.name}.{name}", self.spaces.get(name))
        if not isinstance(space, Space):
            raise BuildError(
                f"{self._owner(method).path}.{method.name}: no space was given for `{name}`, so "
                f"it must stay None. Given: {diagnose.at_hand(self.spaces)}. Add '{name}' to the "
                "input spaces."
            )
        return space

    def _owner(self, method: Method) -> Component:
        return next(root for root in self.roots if method in root.api_methods().values())

    # -- assembly ---------------------------------------------------------------------------------
    def _wanted(self) -> Iterator[tuple[Component, Method]]:
        known = {name for root in self.roots for name in root.api_methods()}
        for name in self.apis or ():
            if name not in known:
                raise BuildError(
                    f"{self.roots[0].path}: apis names {name!r}, which is not an API method."
                    f"{suggestion(name, known)} API: {', '.join(sorted(known))}."
                )
        for root in self.roots:
            methods = root.api_methods()
            if not methods:
                raise BuildError(
                    f"{root.path}: {type(root).__name__} has no API method, so there is nothing to "
                    "build. Mark at least one method @api."
                )
            for name, method in methods.items():
                if self.apis is None or name in self.apis:
                    yield root, method

    def _variants(self, root: Component, method: Method) -> Iterator[dict[str, Any]]:
        """Values to build with: both of a bool, optional tensors present and absent."""
        choices: list[list[Any]] = []
        for parameter in method.parameters:
            given = self.spaces.get(
                f"{method.name}.{parameter.name}", self.spaces.get(parameter.name)
            )
            if parameter.kind == TENSOR:
                present: list[Any] = [Fresh()] if isinstance(given, Space) else []
                absent = [None] if parameter.is_optional_tensor else []
                if not present and not parameter.is_required:
                    absent = [parameter.default]
                choices.append([*absent, *present])
            elif given is not None:
                choices.append([given])
            elif parameter.kind == SIZE and parameter.is_required:
                choices.append([ANY_SIZE])
            elif parameter.kind == STATIC and isinstance(parameter.default, bool):
                choices.append([parameter.default, not parameter.default])
            else:
                choices.append([parameter.default])
        for combination in product(*choices):
            yield dict(zip((p.name for p in method.parameters), combination, strict=True))

    def _assemble(self, root: Component, method: Method, values: dict[str, Any]) -> Graph:
        graph = self._assembler.assemble(root, method, values)
        for parameter in method.parameters:
            record = graph.inputs[parameter.name]
            if isinstance(record, Record):
                record.space = self.space_of_argument(method, parameter.name)
                record.dims = flow.input_dims(parameter.name, record.space)
        return graph

    # -- the flow of spaces -----------------------------------------------------------------------
    def _flow(self, graphs: Sequence[Graph]) -> None:
        for graph in graphs:
            self._enqueue(graph)
        if self.apis is None:
            self._queue.extend(site for site in self._sites.values() if not site.is_complete)
        while self._queue or self._complete_twins():
            waiting = self._queue.popleft()
            if isinstance(waiting, Site):
                self._complete(waiting)
            else:
                self._visit(waiting)
        self._prober.forget()
        self.binding.forget()
        # Where methods are left out, what only they use is not dead.
        dead = [s for s in self._sites.values() if diagnose.is_dead(s)] if self.apis is None else []
        if self._pending or dead:
            raise diagnose.unbuilt(list(self._pending.values()), list(self._sites.values()), dead)

    def _enqueue(self, graph: Graph) -> None:
        for edge in graph.edges:
            self._feed(self._sites[id(edge.callee)], edge.arguments)
        for node in graph.nodes:
            self._pending[id(node)] = node
            self.statistics.nodes += 1
            if isinstance(node, Call) and not node.method.mark.is_api:
                self._feed(self._sites[id(node.component)], node.arguments, is_inner=True)
            elif isinstance(node, Variables):
                # Reading variables reaches those that nothing calls: they need no inputs.
                parts = self.binding.parts_of(node.component)
                node.unfinished = iter(parts)
                self._queue.extend(self._sites[id(part)] for part in parts)
            for body in bodies_of(node):
                self._enqueue(body)
        self._queue.extend(graph.nodes)

    def _feed(self, site: Site, arguments: dict[str, Tree], is_inner: bool = False) -> None:
        """What an inner graph function takes counts only where no API argument has that name."""
        if not site.is_called:
            # A component gets variables when something that is built reaches it, and not before:
            # an actor's process has no memory and no optimizer.
            site.is_called = True
            self._queue.append(site)
        for name in site.needs:
            if arguments.get(name) is not None and not (is_inner and name in site.api_arguments):
                site.feeds.setdefault(name, []).append(arguments[name])
                if not site.is_complete:
                    self._queue.append(site)

    def _complete(self, site: Site) -> None:
        if site.is_complete:
            return
        spaces: dict[str, Space | None] = {}
        for name, is_required in site.needs.items():
            known = None
            for tree in site.feeds.get(name, ()):
                missing = next((r for r in records_in(tree) if r.space is None), None)
                if missing is None:
                    known = flow.space_of(tree)
                    break
                if site not in missing.waiters:
                    missing.waiters.append(site)
            if known is None and (is_required or site.feeds.get(name)):
                return
            spaces[name] = known
        self._create(site, spaces)

    def _complete_twins(self) -> bool:
        """Takes the spaces of a copy (or original) for what is only read here and never called.

        An actor acts by its own copy of a policy and only reads the learner's: that one is called
        in another process. Tried when nothing else moves, so that a component's own inputs win.
        """
        twins: dict[int, Site] = {}
        for site in self._sites.values():
            original = self._sites.get(id(site.component._twin))
            if original is not None and site.is_complete != original.is_complete:
                ready, other = (site, original) if site.is_complete else (original, site)
                twins.setdefault(id(other.component), ready)
        for site in self._sites.values():
            twin = twins.get(id(site.component))
            # With waiters, something that is built asks for its variables.
            if twin is not None and site.waiters and not site.is_called:
                self._create(site, dict(twin.spaces))
        return bool(self._queue)

    def _create(self, site: Site, spaces: dict[str, Space | None]) -> None:
        component = site.component
        self.binding.creating = component
        with diagnose.naming(component, spaces):
            component.create_variables(**spaces)
        self.binding.creating = None
        site.spaces = spaces
        site.is_complete = True
        self._wake(site)

    def _visit(self, node: Node) -> None:
        # One missing thing at a time: each wakes the node once, so no list is gone through again.
        missing = self._missing(node)
        if missing is not None:
            missing.waiters.append(node)
        elif self._passes(node):
            node.done = True
            self._pending.pop(id(node), None)
            for record in node.outputs:
                self._wake(record)

    def _passes(self, node: Node) -> bool:
        """Whether the spaces are through: a node with bodies waits for theirs."""
        if isinstance(node, Scan):
            return flow.scan(node, self._known)
        if isinstance(node, Cond):
            return flow.cond(node, self._known)
        if isinstance(node, Replicate):
            return replicas.replicate(node, self._known)
        if isinstance(node, Inline):
            return flow.inline(node, self._assembler, self._known, self._enqueue)
        if isinstance(node, Call):
            diagnose.check_like(self._sites[id(node.component)], node)
            flow.call(node, self._prober)
            replicas.check(node, self._prober)
        elif isinstance(node, Item):
            flow.item(node)
        elif isinstance(node, Variables):
            flow.variables(node, self.binding)
        return True

    def _missing(self, node: Node) -> Record | Site | None:
        for record in node.inputs():
            if record.space is None:
                return record
        if isinstance(node, Call):
            site = self._sites[id(node.component)]
            return None if site.is_complete else site
        if isinstance(node, Variables):
            # What is complete stays complete: the cursor makes the whole wait linear.
            for part in node.unfinished:
                site = self._sites[id(part)]
                if not site.is_complete and (part.must_be_complete or site.is_called):
                    node.unfinished = chain([part], node.unfinished)
                    return site
        return None

    def _known(self, record: Record, space: Space, dims: dict[str, Any]) -> None:
        record.space = space
        record.dims = dims
        self._wake(record)

    def _wake(self, thing: Record | Site) -> None:
        self._queue.extend(thing.waiters)
        thing.waiters.clear()


@cache
def _needs(function: Callable[..., Any]) -> dict[str, bool]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default is p.empty for p in parameters if p.kind == p.KEYWORD_ONLY}


def _api_arguments(component: Component) -> set[str]:
    return {p.name for method in component.api_methods().values() for p in method.parameters}


def _as_space(value: Any) -> Any:
    is_word = isinstance(value, str) and value in ("float", "int", "bool")
    return space_from_spec(value) if is_word or isinstance(value, (dict, list, tuple)) else value


def _key(root: Component, method: Method, values: dict[str, Any]) -> Any:
    marks = ("*" if isinstance(value, Fresh) else (type(value), value) for value in values.values())
    return (id(root), method.name, *marks)
