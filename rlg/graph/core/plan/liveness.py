"""Which nodes a plan needs, and which of them gradients flow through."""

from __future__ import annotations

from collections.abc import Iterable

from rlg.graph.core.assembly.records import (
    Call,
    Graph,
    Inline,
    Node,
    Tree,
    all_nodes,
    bodies_of,
    records_in,
)
from rlg.graph.spaces import path_name


def live_nodes(graph: Graph, extra: Iterable[Tree] = ()) -> list[Node]:
    """The nodes in program order without those that nobody uses and that change nothing."""
    wanted = {id(r) for tree in (graph.outputs, *extra) for r in records_in(tree)}
    live: list[Node] = []
    for node in reversed(graph.nodes):
        if has_effect(node) or any(id(record) in wanted for record in node.outputs):
            live.append(node)
            wanted.update(id(record) for record in node.inputs())
    return live[::-1]


def has_effect(node: Node) -> bool:
    """Whether a node writes, draws, or can't be known not to."""
    if isinstance(node, Call):
        mark = node.method.mark
        if mark.is_host or mark.spaces is not None or not node.outputs:
            return True
        return any(probe.writes or probe.draws for probe in node.probes.values())
    return any(has_effect(inner) for inner in _inside(node))


def needs_gradient(graph: Graph) -> set[Node]:
    """Nodes that take gradients and everything before them that gradients may flow through."""
    found: set[Node] = set()
    waiting = [node for node in graph.nodes if _takes_gradients(node)]
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found.add(node)
        found.update(_inside(node))
        waiting.extend(record.node for record in node.inputs() if record.node is not None)
    return found


def all_summaries(graph: Graph) -> list[tuple[str, str, Tree]]:
    """The summaries of a graph and of the split methods in it, tagged by leaf."""
    found = list(graph.summaries)
    for node in graph.nodes:
        for path, body in node.bodies.items() if isinstance(node, Inline) else ():
            suffix = f"/{path_name(path)}" if path else ""
            found += [(f"{tag}{suffix}", kind, tree) for tag, kind, tree in all_summaries(body)]
    return found


def _takes_gradients(node: Node) -> bool:
    calls = [inner for inner in (node, *_inside(node)) if isinstance(inner, Call)]
    return any(probe.gradients for call in calls for probe in call.probes.values())


def _inside(node: Node) -> list[Node]:
    return [inner for body in bodies_of(node) for inner in all_nodes(body)]
