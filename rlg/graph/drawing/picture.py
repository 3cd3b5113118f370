"""What there is to draw of a built graph: scopes in each other, and the API calls between them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rlg.errors import ExecutionError
from rlg.graph.core.assembly.records import Edge, Graph, Record, Variables, all_graphs, all_nodes
from rlg.graph.core.component.component import Component
from rlg.graph.core.component.methods import Method
from rlg.graph.drawing.places import HOST, Places
from rlg.graph.drawing.words import call_words, short
from rlg.graph.spaces import Box
from rlg.spelling import suggestion

if TYPE_CHECKING:
    from rlg.graph.core.build.builder import Builder

# Fill of a component, tint of a scope around others, border: by device, the default one first.
_PALETTE = (
    ("#d6e6f7", "#f3f8fd", "#5b8db8"),
    ("#fde2c4", "#fef7ee", "#c98a3d"),
    ("#d5efd5", "#f2faf2", "#5d9e61"),
    ("#ead9f5", "#f9f4fd", "#9167b0"),
    ("#fbd5dc", "#fef3f5", "#c0627a"),
    ("#cdeeed", "#effafa", "#3f9a98"),
)


class Held(NamedTuple):
    """A variable as a component holds it."""

    name: str
    space: Box
    trainable: bool
    device: str

    def __str__(self) -> str:
        return f"{self.name} {short(self.space)}"


@dataclass(slots=True, eq=False)
class Scope:
    """A component, or a scope that several of them share variables in."""

    path: str
    name: str
    kind: str
    methods: dict[str, Method] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)  # devices of its own graph functions
    parent: Scope | None = None
    children: list[Scope] = field(default_factory=list)
    variables: list[Held] = field(default_factory=list)
    shares: Scope | None = None  # holds its variables, if it doesn't itself
    # API methods with the spaces they were called with.
    signatures: dict[str, str] = field(default_factory=dict)
    # Devices of it and of all inside, the default one first.
    devices: list[str] = field(default_factory=list)
    first_call: float = math.inf
    doc: str = ""  # of its class, the first line

    def __iter__(self) -> Iterator[Scope]:
        """The scope and all inside, parents before children."""
        stack = [self]
        while stack:
            scope = stack.pop()
            yield scope
            stack.extend(reversed(scope.children))

    @property
    def tooltip(self) -> str:
        """Everything there is to say in words, one thing a line."""
        apis = [self.signatures.get(name, m.signature()) for name, m in self.methods.items()]
        homes = [f"variables in the shared scope {self.shares.path}"] if self.shares else []
        held = [f"{v} on {v.device}{'' if v.trainable else ', state'}" for v in self.variables]
        place = f"on {', '.join(self.devices)}"
        return "\n".join([f"{self.path}: {self.kind}", place, *apis, *homes, *held])


@dataclass(slots=True, eq=False)
class Arrow:
    """A distinct API call; `source` is None for calls of a root's API from outside."""

    source: Scope | None
    # The calling API method; None from outside.
    via: str | None
    target: Scope
    method: str
    # The spaces of the arguments, in few words, and in full behind the method.
    label: str
    signature: str
    # Its place among the calls that `via` makes; 0 if it is the only one.
    order: int = 0
    # Of calls from outside: arguments by name, and what comes out.
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    # The API methods of roots that come this way, in the order of `Picture.apis`.
    apis: dict[str, None] = field(default_factory=dict)


class Picture:
    """What there is to draw of a built graph, or of one API method of its roots."""

    def __init__(self, builder: Builder, api: str | None = None) -> None:
        self._builder = builder
        self.visited = 0  # edges looked at
        self.default = builder.binding.devices.default
        self._places = Places(builder)
        self._scopes = {id(part): self._scope(part) for part in builder.components}
        self._shared: dict[str, Scope] = {}
        self._nest()
        self._hold()
        held = (held.device for scope in self._scopes.values() for held in scope.variables)
        devices = {self.default, *held, *(d for s in self._scopes.values() for d in s.places)}
        self._devices = self._ordered(devices)  # in the order of the palette
        self.arrows = self._calls(api)
        self._finish()
        roots = [scope for scope in self._scopes.values() if scope.parent is None]
        shares = {id(scope.shares) for scope in self._scopes.values()}
        self.shared = [scope for scope in self._shared.values() if id(scope) in shares]
        self.canvas = Scope("", "", "", children=[*roots, *self.shared])  # around everything
        self.scopes = [scope for root in roots for scope in root]
        self.devices = self._ordered({d for scope in self.canvas.children for d in scope.devices})

    def colours(self, devices: list[str], shade: int) -> list[str]:
        """One for each device: shade 0 fills components, 1 scopes around others, 2 is dark."""
        return [_PALETTE[self._devices.index(d) % len(_PALETTE)][shade] for d in devices]

    def _scope(self, part: Component) -> Scope:
        # With bodies of regions that are nobody else's: calls pass through them.
        methods = {name: m for name, m in part.methods().items() if m.mark.is_api}
        kind, replicas = type(part).__name__, self._places.replicas(part)
        kind = f"{kind} x{replicas}" if replicas > 1 else kind
        scope = Scope(part.path or "", part.path or "", kind, methods)
        scope.doc = inspect.cleandoc(type(part).__doc__ or "").partition("\n")[0]
        scope.places = self._places.devices(part)
        return scope

    def _nest(self) -> None:
        placed = {id(root) for root in self._builder.roots}
        for part in self._builder.components:
            parent = self._scopes[id(part)]
            for _, child in part.children():
                if id(child) in self._scopes and id(child) not in placed:
                    placed.add(id(child))
                    scope = self._scopes[id(child)]
                    scope.parent, scope.name = parent, scope.path.removeprefix(f"{parent.path}/")
                    parent.children.append(scope)

    def _hold(self) -> None:
        """Gives scopes their variables."""
        binding, known = self._builder.binding, dict[str, Held]()
        for part in self._builder.components:
            scope, home = self._scopes[id(part)], part.shared_scope
            for path in binding.variable_ids(part).values():
                info, name = binding.variables[path], path.removeprefix(f"{home or part.path}/")
                device = HOST if part.on_host else binding.devices.of_variables(part)
                held = Held(name, info.space, info.trainable, device)
                scope.variables.append(known.setdefault(path, held))
                if home is not None:
                    scope.shares = self._shared.setdefault(home, Scope(home, home, "shared scope"))
                    scope.shares.variables += [held] if known[path] is held else []

    def _calls(self, api: str | None) -> list[Arrow]:
        arrows: dict[object, Arrow] = {}
        graphs = wanted(self._builder, api)
        for root in graphs:
            for graph in all_graphs(root):
                for edge in graph.edges:
                    self.visited += 1
                    key = (id(edge.caller), edge.via, id(edge.callee), edge.method.name)
                    arrow = arrows[key] = arrows.get(key) or self._arrow(edge)
                    if arrow.source is None:
                        _fill(arrow, edge.method, graph)
                    arrow.apis[api_name(self._builder, root)] = None
                    arrow.target.first_call = min(arrow.target.first_call, len(arrows))
                    arrow.target.signatures.setdefault(arrow.method, arrow.signature)
        if api is not None:
            nodes = (node for graph in graphs for node in all_nodes(graph))
            read = {id(node.component) for node in nodes if isinstance(node, Variables)}
            self._keep({id(self._scopes[key]) for key in read})
        return list(arrows.values())

    def _arrow(self, edge: Edge) -> Arrow:
        source = None if edge.caller is None else self._scopes[id(edge.caller)]
        target, name = self._scopes[id(edge.callee)], edge.method.name
        return Arrow(source, edge.via, target, name, *call_words(edge))

    def _keep(self, used: set[int]) -> None:
        """Leaves out what takes no part, and API methods that nobody calls."""
        for scope in reversed(self._scopes.values()):
            if scope.signatures or id(scope) in used:
                used |= {id(scope), id(scope.parent)}
        self._scopes = {key: s for key, s in self._scopes.items() if id(s) in used}
        for scope in self._scopes.values():
            scope.children = [child for child in scope.children if id(child) in used]
            scope.methods = {n: m for n, m in scope.methods.items() if n in scope.signatures}

    def _finish(self) -> None:
        """Devices from inside out, and the order of calls."""
        for scope in (*self._shared.values(), *reversed(self._scopes.values())):
            found = {*scope.places, *(held.device for held in scope.variables)}
            for child in scope.children:
                found.update(child.devices)
                scope.first_call = min(scope.first_call, child.first_call)
            scope.children.sort(key=lambda child: child.first_call)
            scope.devices = self._ordered(found)
        groups: dict[tuple[int, str | None], list[Arrow]] = {}
        for arrow in self.arrows:
            groups.setdefault((id(arrow.source), arrow.via), []).append(arrow)
        for group in groups.values():
            for number, arrow in enumerate(group, start=1):
                arrow.order = number if len(group) > 1 else 0

    def _ordered(self, devices: set[str]) -> list[str]:
        return sorted(
            devices or {self.default}, key=lambda device: (device != self.default, device)
        )


def wanted(builder: Builder, api: str | None) -> list[Graph]:
    """The graphs of one API method of the roots ("update", or "agent/update"), or all."""
    graphs, (path, _, name) = builder.graphs, (api or "").rpartition("/")
    found = [g for g in graphs if g.name == name and path in ("", g.component.path)]
    found = graphs if api is None else found
    if not found:
        known = list(dict.fromkeys(graph.name for graph in graphs))
        raise ExecutionError(
            f"there is no API method {api!r} to draw.{suggestion(api or '', known)} "
            f"API: {', '.join(known)}."
        )
    return found


def api_name(builder: Builder, graph: Graph) -> str:
    """What an API method of a root is called: with the root's path where there are several."""
    is_one = len(builder.roots) == 1
    return graph.name if is_one else f"{graph.component.path}/{graph.name}"


def _fill(entry: Arrow, method: Method, graph: Graph) -> None:
    for parameter in method.parameters:
        value, name = graph.inputs[parameter.name], parameter.name
        if isinstance(value, Record):
            entry.inputs[name] = f"{name}{'' if parameter.is_required else '?'}: {short(value)}"
        else:
            entry.inputs.setdefault(name, name)
    outputs = graph.outputs if isinstance(graph.outputs, tuple) else (graph.outputs,)
    entry.outputs = max(entry.outputs, [short(o) for o in outputs if o is not None], key=len)
