"""A graph as TensorBoard draws it: nodes with paths as names, which it folds into scopes.

One node for each graph function, variable, and input of a root's API method; tensors are edges.
Plain values: who writes the events turns them into messages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rlg.graph.core.component.component import Component
from rlg.graph.drawing.flows import Flow, Point, flows
from rlg.graph.drawing.picture import Picture
from rlg.graph.drawing.places import Places

if TYPE_CHECKING:
    from rlg.graph.core.build.builder import Builder

# Scopes that hold what comes in and goes out.
INPUTS, OUTPUTS = "inputs", "outputs"


@dataclass(slots=True, eq=False)
class GraphNode:
    """A node with the names of those that it takes values from."""

    name: str
    op: str
    device: str = ""
    inputs: dict[str, None] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    # Of what it gives, if that is one tensor; -1 for ranks.
    shape: tuple[int, ...] | None = None


def graph_nodes(builder: Builder, api: str | None = None) -> list[GraphNode]:
    """All nodes, in the order of the program."""
    return _Nodes(builder, api).all()


class _Nodes:
    def __init__(self, builder: Builder, api: str | None) -> None:
        self._builder = builder
        self._found: dict[str, GraphNode] = {}
        self._variables: dict[str, list[str]] = {}
        picture, self._places = Picture(builder, api), Places(builder)
        for scope in (*picture.scopes, *picture.shared):
            for held in scope.variables if scope.shares is None else ():
                words = {"space": str(held).partition(" ")[2], "trainable": str(held.trainable)}
                path = f"{scope.path}/{held.name}"
                name, shape = node_name(path), held.space.shape
                self._add(GraphNode(name, "Variable", held.device, {}, words, shape))
                self._variables.setdefault(scope.path, []).append(name)
        for flow in flows(builder, api):
            self._flow(flow)

    def all(self) -> list[GraphNode]:
        return list(self._found.values())

    def _flow(self, flow: Flow) -> None:
        target = self._node(flow.target)
        if flow.source.kind == "variables":
            for part in self._builder.components:
                path, root = part.path or "", flow.source.component.path or ""
                if path == root or path.startswith(f"{root}/"):
                    target.inputs |= dict.fromkeys(self._held(part))
            return
        source = self._node(flow.source)
        if flow.label:
            source.attributes["space"] = flow.label
            source.shape = flow.shape
        # Without a value it is only an order: a control edge.
        target.inputs[source.name if flow.label else f"^{source.name}"] = None

    def _node(self, point: Point) -> GraphNode:
        path = point.component.path or ""
        if point.kind == "input":
            name = f"{INPUTS}/{point.name}/{point.argument or 'call'}"
            return self._add(GraphNode(node_name(name), "Placeholder"))
        if point.kind == "output":
            return self._add(GraphNode(node_name(f"{OUTPUTS}/{point.name}"), "Output"))
        part = point.component
        device = ", ".join(self._places.devices(part))
        # A component is a scope, so its function needs a name of its own in it.
        node = GraphNode(node_name(f"{path}/{point.name}"), type(part).__name__, device)
        node.inputs = dict.fromkeys(self._held(part))
        return self._add(node)

    def _held(self, part: Component) -> list[str]:
        return self._variables.get(part.shared_scope or part.path or "", [])

    def _add(self, node: GraphNode) -> GraphNode:
        return self._found.setdefault(node.name, node)


def node_name(path: str) -> str:
    """Only what TensorFlow allows in the name of a node."""
    return re.sub(r"[^A-Za-z0-9_.\\/>-]", "_", path).lstrip("_/-\\>") or "_"
