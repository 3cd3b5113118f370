"""Drawings of a built graph: a text tree, Graphviz source, and an SVG that needs no other program.

All three show one `Picture`: components in nested scopes with their variables, and an arrow for
each distinct API call. Equal graphs give equal bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from rlg.errors import ExecutionError
from rlg.graph.core import svg
from rlg.graph.core.component import Component
from rlg.graph.core.diagnose import suggestion
from rlg.graph.core.methods import TENSOR, Method
from rlg.graph.core.records import Edge, Graph, Record, Tree, Variables, all_nodes, bodies_of
from rlg.graph.spaces import Box, Dict, Tuple

if TYPE_CHECKING:
    from rlg.graph.core.build import Builder

# Characters that a label has at most, about; tooltips say the rest.
_LABEL = 30
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
    device: str | None = None  # of graph functions; None without any
    parent: Scope | None = None
    children: list[Scope] = field(default_factory=list)
    variables: list[Held] = field(default_factory=list)
    shares: Scope | None = None  # holds its variables, if it doesn't itself
    # API methods with the spaces they were called with.
    signatures: dict[str, str] = field(default_factory=dict)
    # Devices of it and of all inside, the default one first.
    devices: list[str] = field(default_factory=list)
    first_call: float = math.inf

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
    # The calling API method; None where nested calls on one component leave it open.
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


class Picture:
    """What there is to draw of a built graph, or of one API method of its roots."""

    def __init__(self, builder: Builder, api: str | None = None) -> None:
        self._builder = builder
        self.default = builder.binding.devices.default
        self._scopes = {id(part): self._scope(part) for part in builder.components}
        self._shared: dict[str, Scope] = {}
        self._nest()
        self._hold()
        held = (held.device for scope in self._scopes.values() for held in scope.variables)
        devices = {self.default, *held, *(scope.device for scope in self._scopes.values())}
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
        scope = Scope(part.path or "", part.path or "", type(part).__name__, part.api_methods())
        if any(method.mark.is_graph_fn for method in part.methods().values()):
            scope.device = self._builder.binding.devices.of_ops(part)
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
                held = Held(name, info.space, info.trainable, binding.devices.of_variables(part))
                scope.variables.append(known.setdefault(path, held))
                if home is not None:
                    scope.shares = self._shared.setdefault(home, Scope(home, home, "shared scope"))
                    scope.shares.variables += [held] if known[path] is held else []

    def _calls(self, api: str | None) -> list[Arrow]:
        graphs = list(self._builder._graphs.values())
        calls = [(graph, edge, names) for graph in graphs for edge, names in _calls_in(graph, {})]
        certain = {_key(edge, names[0]) for _, edge, names in calls if len(names) == 1}
        wanted = {id(graph) for graph in _wanted(graphs, api)}
        arrows: dict[object, Arrow] = {}
        for graph, edge, names in calls:
            if id(graph) in wanted:
                via = next((name for name in names if _key(edge, name) in certain), None)
                arrow = arrows.setdefault(_key(edge, via), self._arrow(edge, via))
                if arrow.source is None:
                    _fill(arrow, edge.method, graph)
                arrow.target.first_call = min(arrow.target.first_call, len(arrows))
                arrow.target.signatures.setdefault(arrow.method, arrow.signature)
        if api is not None:
            nodes = (node for graph in graphs if id(graph) in wanted for node in all_nodes(graph))
            read = {id(node.component) for node in nodes if isinstance(node, Variables)}
            self._keep({id(self._scopes[key]) for key in read})
        return list(arrows.values())

    def _arrow(self, edge: Edge, via: str | None) -> Arrow:
        source = None if edge.caller is None else self._scopes[id(edge.caller)]
        return Arrow(source, via, self._scopes[id(edge.callee)], edge.method.name, *_spaces(edge))

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
            found = {scope.device, *(held.device for held in scope.variables)}
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

    def _ordered(self, devices: set[str | None]) -> list[str]:
        known = {device for device in devices if device} or {self.default}
        return sorted(known, key=lambda device: (device != self.default, device))


def text_tree(builder: Builder) -> str:
    """The components as a tree, with their API methods, variables and devices, and totals below."""
    picture, lines = Picture(builder), list[str]()
    bars: dict[int, tuple[str, str]] = {}
    for scope in (*picture.scopes, *picture.shared):
        own, below = bars.pop(id(scope), ("", ""))
        for child in scope.children:
            ends = ("└─ ", "   ") if child is scope.children[-1] else ("├─ ", "│  ")
            bars[id(child)] = (below + ends[0], below + ends[1])
        words = [f"{scope.name}: {scope.kind}", ", ".join(scope.methods)]
        words += [f"on {scope.device}"] if scope.device not in (None, picture.default) else []
        words += [f"variables in {scope.shares.path}"] if scope.shares else []
        lines.append(own + "  ".join(word for word in words if word))
        for held in scope.variables if scope.shares is None else ():
            place = "" if held.device == picture.default else f"  on {held.device}"
            size = f"{held.space.flat_dim:,} {'trainable' if held.trainable else 'state'}"
            lines.append(f"{below}{'│' if scope.children else ' '}  · {held}  {size}{place}")
    variables = builder.binding.variables.values()
    trainable = sum(info.space.flat_dim for info in variables if info.trainable)
    lines += ["", f"{len(picture.scopes)} components, {len(picture.arrows)} API calls"]
    lines.append(f"{len(variables)} variables, {trainable:,} trainable parameters")
    return "\n".join([*lines, ""])


def to_dot(builder: Builder, api: str | None = None) -> str:
    """Graphviz source: scopes as clusters, components as nodes, API calls as edges."""
    picture = Picture(builder, api)
    names = {id(scope): f"c{number}" for number, scope in enumerate(picture.canvas)}
    lines = [
        "digraph rlg {",
        'graph [rankdir=LR, fontname="Helvetica", fontsize=11, nodesep=0.2];',
        'node [shape=plain, fontname="Helvetica", fontsize=10];',
        'edge [fontname="Helvetica", fontsize=8, color="#546e7a", arrowsize=0.6];',
    ]
    stack: list[Scope | None] = [*reversed(picture.canvas.children)]
    while stack:
        scope = stack.pop()
        if scope is None:
            lines.append("}")
            continue
        if scope.children or scope.parent is None:
            fill = ":".join(picture.colours(scope.devices, 1)[:2])
            style = f"rounded,filled{'' if scope.signatures else ',dashed'}"
            lines.append(f"subgraph cluster_{names[id(scope)]} {{ label={_quoted(scope.path)};")
            lines.append(f'style="{style}"; fillcolor="{fill}"; color="#78909c";')
            stack += [None, *reversed(scope.children)]
        lines.append(_node(scope, names[id(scope)], picture))
    for scope in picture.scopes:
        if scope.shares is not None:
            ends = f"{names[id(scope)]} -> {names[id(scope.shares)]}"
            lines.append(f"{ends} [style=dashed, dir=none, constraint=false];")
    for number, arrow in enumerate(picture.arrows):
        head = names[id(arrow.target)] + _port(arrow.target, arrow.method)
        if arrow.source is not None:
            tail = names[id(arrow.source)] + _port(arrow.source, arrow.via)
            label = f"{arrow.method}({arrow.label})"
        else:
            tail, label = f"in{number}", arrow.method
            text = _quoted("\n".join(arrow.inputs.values()) or "no inputs")
            lines.append(f"{tail} [shape=ellipse, label={text}];")
        words = f"label={_quoted(label)}, tooltip={_quoted(arrow.signature)}"
        lines.append(f"{tail} -> {head} [{words}];")
        if arrow.outputs:
            text = _quoted("\n".join(arrow.outputs))
            lines.append(f"out{number} [shape=ellipse, label={text}]; {head} -> out{number};")
    return "\n".join([*lines, "}", ""])


def to_svg(builder: Builder, api: str | None = None) -> str:
    """A self-contained SVG, laid out here: scopes as nested boxes, API calls as arrows."""
    return svg.render(Picture(builder, api))


def _node(scope: Scope, name: str, picture: Picture) -> str:
    fills, borders = (picture.colours(scope.devices, shade) for shade in (0, 2))
    rows = [f"<TD><B>{escape(scope.name)}</B><BR/>{escape(scope.kind)}</TD>"]
    for number, method in enumerate(scope.methods):
        rows.append(f'<TD PORT="p{number}" BGCOLOR="white">{escape(method)}</TD>')
    if scope.variables and scope.shares is None:
        rows.append(f"<TD>{'<BR/>'.join(escape(str(held)) for held in scope.variables)}</TD>")
    style = f'CELLBORDER="0" STYLE="ROUNDED" COLOR="{borders[0]}" BGCOLOR="{":".join(fills[:2])}"'
    table = "".join(f"<TR>{row}</TR>" for row in rows)
    return f"{name} [tooltip={_quoted(scope.tooltip)}, label=<<TABLE {style}>{table}</TABLE>>];"


def _port(scope: Scope, method: str | None) -> str:
    return f":p{list(scope.methods).index(method)}" if method in scope.methods else ""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _wanted(graphs: list[Graph], api: str | None) -> list[Graph]:
    path, _, name = (api or "").rpartition("/")
    found = [g for g in graphs if g.name == name and path in ("", g.component.path)]
    found = graphs if api is None else found
    if not found:
        known = list(dict.fromkeys(graph.name for graph in graphs))
        raise ExecutionError(
            f"there is no API method {api!r} to draw.{suggestion(api or '', known)} "
            f"API: {', '.join(known)}."
        )
    return found


def _key(edge: Edge, via: str | None) -> object:
    return id(edge.caller), via, id(edge.callee), edge.method.name


def _calls_in(graph: Graph, outer: Mapping[int, list[str]]) -> Iterator[tuple[Edge, list[str]]]:
    """The API calls of a graph and of regions in it, with the methods that may have made each.

    Edges come in the order of calls, so a stack tells who is calling; it is only uncertain after
    a component called itself. `outer` has the methods that may be active around a region.
    """
    stack = [(graph.component, graph.name)]
    active = {id(graph.component): [graph.name]}
    methods = {id(graph.component): [graph.name]}
    for number, edge in enumerate(graph.edges):
        caller, callee, name = edge.caller, edge.callee, edge.method.name
        if number == 0 and callee is graph.component and name == graph.name:
            yield edge, outer.get(id(caller), [])
            continue
        while stack[-1][0] is not caller:
            active[id(stack.pop()[0])].pop()
        yield edge, active[id(caller)][::-1]
        if not edge.method.mark.is_graph_fn:
            stack.append((callee, name))
            active.setdefault(id(callee), []).append(name)
            if name not in methods.setdefault(id(callee), []):
                methods[id(callee)].append(name)
    for node in graph.nodes:
        for body in bodies_of(node):
            yield from _calls_in(body, methods)


def _spaces(edge: Edge) -> tuple[str, str]:
    tensors = {p.name for p in edge.method.parameters if p.kind == TENSOR}
    given = {name: value for name, value in edge.arguments.items() if value is not None}
    words = [short(value) if name in tensors else name for name, value in given.items()]
    long = [f"{n}: {short(v, math.inf)}" if n in tensors else n for n, v in given.items()]
    return _listed(words, _LABEL), f"{edge.method.name}({', '.join(long)})"


def _fill(entry: Arrow, method: Method, graph: Graph) -> None:
    for parameter in method.parameters:
        value, name = graph.inputs[parameter.name], parameter.name
        if isinstance(value, Record):
            entry.inputs[name] = f"{name}{'' if parameter.is_required else '?'}: {short(value)}"
        else:
            entry.inputs.setdefault(name, name)
    outputs = graph.outputs if isinstance(graph.outputs, tuple) else (graph.outputs,)
    entry.outputs = max(entry.outputs, [short(o) for o in outputs if o is not None], key=len)


def short(tree: Tree, limit: float = _LABEL) -> str:
    """`f32[B,4]`, `{action, reward, …}`, `(i64[B], f32[B])`, or a constant; without limit, all."""
    space = tree.space if isinstance(tree, Record) else tree
    if isinstance(space, Box):
        sizes = ",".join([*space.ranks, *map(str, space.shape)])
        dtype = re.sub(r"(?<=[a-z])[a-z]+(?=\d)", "", space.dtype)
        return f"{dtype}[{sizes}]" if sizes else dtype
    if isinstance(space, (Dict, Mapping)):
        items = [(str(key)[:_LABEL], value) for key, value in space.items()]
        words = [k if limit == _LABEL else f"{k}: {short(v, limit)}" for k, v in items]
        return f"{{{_listed(words, limit)}}}"
    if isinstance(space, (Tuple, tuple, list)):
        return f"({_listed([short(item, limit) for item in space], limit)})"
    return repr(space)[:_LABEL]


def _listed(words: list[str], limit: float) -> str:
    """Words between commas; those that go beyond the limit become an ellipsis."""
    kept, length = list[str](), 0
    for word in words:
        length += len(word) + 2
        if kept and length > limit:
            return ", ".join([*kept, "…"])
        kept.append(word)
    return ", ".join(kept)
