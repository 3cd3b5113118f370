"""Random draws as arguments of a plan: which stream, which kind, and which sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rlg.errors import BuildError
from rlg.graph.core.assembly.assemble import leaves
from rlg.graph.core.assembly.records import Call, Graph, Scan, all_nodes, is_host_step, records_in
from rlg.graph.core.build.flow import dims_of, resolved, space_of
from rlg.graph.core.build.probe import Draw
from rlg.graph.core.component.randomness import Stream

# Sizes made of two others. A loop over minibatches has at least one.
COMBINED: dict[str, Callable[[int, int], int]] = {
    "product": lambda a, b: a * b,
    "quotient": lambda a, b: max(a // b, 1),
}


@dataclass(frozen=True, slots=True)
class PlannedDraw:
    """A draw made before the call that uses it.

    Sizes are numbers, places to look, (argument, path of a leaf, axis), or made of two sizes:
    ("product", size, size), ("quotient", size, size), which is rounded down and 1 or more.
    """

    stream: Stream
    kind: str
    sizes: tuple[Any, ...]

    def repeated(self, *lead: Any) -> PlannedDraw:
        """The same draw for every step of a loop."""
        return PlannedDraw(self.stream, self.kind, (*lead, *self.sizes))

    def renamed(self, names: Mapping[str, str]) -> PlannedDraw:
        """The same draw with the plan's own names for arguments."""
        sizes = tuple(_renamed(size, names) for size in self.sizes)
        return PlannedDraw(self.stream, self.kind, sizes)

    def make(self, arguments: Mapping[str, Any]) -> Any:
        """Draws now, for these arguments of the plan."""
        return self.stream.draw(self.kind, [_measure(size, arguments) for size in self.sizes])


def planned(node: Call, draw: Draw, streams: Mapping[str, Stream]) -> PlannedDraw:
    """Resolves the ranks of a draw into places where a plan finds their sizes."""
    dims = dims_of(node)
    sizes: list[Any] = []
    for dim in draw.dims:
        is_argument = isinstance(dim, str) and dim in node.arguments
        size: Any = node.arguments[dim] if is_argument else resolved(dim, dims)  # type: ignore[index]
        if size is None:
            raise BuildError(
                f"{node.label}: the size of a random draw does not come from an input or a static "
                "argument, so it can't be made before the call: something on the way to it changes "
                "the size of the batch. Draw before that, or in a component whose input has it."
            )
        sizes.append(size)
    return PlannedDraw(streams[node.component.path or ""], draw.kind, tuple(sizes))


def draws_anything(graph: Graph) -> bool:
    """Whether a graph or a region in it draws random numbers before it runs: host steps don't."""
    calls = (n for n in all_nodes(graph) if isinstance(n, Call) and not is_host_step(n))
    return any(probe.draws for node in calls for probe in node.probes.values())


def length_of(node: Scan) -> Any:
    """The number of steps of a loop, as a size of a planned draw."""
    for tree in leaves(node.xs):
        for box in space_of(tree).flatten().values():
            if not box.ranks:
                return box.shape[0]
            dim = next((r.dims.get(box.ranks[0]) for r in records_in(tree)), None)
            if dim is not None:
                return dim
    raise BuildError(f"{node.label}: the length of a scan with random draws is not known.")


def _renamed(size: Any, names: Mapping[str, str]) -> Any:
    if isinstance(size, int):
        return size
    if size[0] in COMBINED:
        return (size[0], *(_renamed(part, names) for part in size[1:]))
    name, path, axis = size
    return names[name], path, axis


def _measure(size: Any, arguments: Mapping[str, Any]) -> int:
    if isinstance(size, int):
        return size
    if size[0] in COMBINED:
        return COMBINED[size[0]](_measure(size[1], arguments), _measure(size[2], arguments))
    name, path, axis = size
    value = arguments[name]
    for key in path:
        value = value[key]
    return int(value.shape[axis])
