"""How emitted source draws: where numbers are due, before a loop, or outside of a static graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlg.graph.core.assembly.records import Call, is_host_step
from rlg.graph.core.plan.draws import COMBINED, PlannedDraw, planned
from rlg.graph.core.plan.writer import SourceWriter, identifier

if TYPE_CHECKING:
    from rlg.graph.core.plan.plan import Lowering

Path = tuple[str | int, ...]


class DrawWriter(SourceWriter):
    """Writes the draws of graph functions.

    A static graph can't draw, so all its draws are made before the call and come in as arguments.
    A loop draws for all of its steps at once, so that one stream gives equal numbers whether a
    backend runs the loop step by step or as a node of a graph.
    """

    def __init__(self, name: str, lowering: Lowering, binding: Any) -> None:
        super().__init__(name)
        self.draws: list[PlannedDraw] = []
        self._lowering = lowering
        self._binding = binding
        # What the arguments of the graph at hand are called in the plan.
        self._own: dict[str, str] = {}
        # One list for each open region: the draws that its body takes from outside.
        self._regions: list[list[PlannedDraw]] = []

    def _feed(self, node: Call, path: Path) -> None:
        """In static graphs and in regions a function finds its draws in `ops.feed`."""
        draws = node.probes[path].draws
        if not draws or not (self._lowering.feeds or self._regions) or is_host_step(node):
            return
        texts = [self._draw(planned(node, draw, self._binding.streams)) for draw in draws]
        self._line(f"{self._ops(node.component)}.feed = [{', '.join(texts)}]")

    def _unfeed(self, node: Call, path: Path) -> None:
        draws = node.probes[path].draws and not is_host_step(node)
        if draws and (self._lowering.feeds or self._regions):
            self._line(f"{self._ops(node.component)}.feed = None")

    def _draw(self, draw: PlannedDraw) -> str:
        if self._regions:
            self._regions[-1].append(draw)
            return f"draws[{len(self._regions[-1]) - 1}]"
        return self._top_draw(draw)

    def _top_draw(self, draw: PlannedDraw) -> str:
        if self._lowering.feeds:
            self.draws.append(draw.renamed(self._own))
            return f"draw_{len(self.draws) - 1}"
        stream = self._global(f"stream_{identifier(draw.stream.path)}", draw.stream)
        sizes = ", ".join(self._size(size) for size in draw.sizes)
        convert = self._global("from_host", self._lowering.from_host)
        return f"{convert}({stream}.{draw.kind}(({sizes},)))"

    def _outer_draws(self, inner: list[PlannedDraw], length: Any) -> str:
        lead = () if length is None else (length,)
        texts = [self._draw(draw.repeated(*lead)) for draw in inner]
        return f"({', '.join(texts)},)"

    def _size(self, size: Any) -> str:
        if isinstance(size, int):
            return str(size)
        if size[0] in COMBINED:
            first, second = (self._size(part) for part in size[1:])
            return (
                f"({first} * {second})" if size[0] == "product" else f"max({first} // {second}, 1)"
            )
        name, path, axis = size
        return f"{self._own[name]}{''.join(f'[{key!r}]' for key in path)}.shape[{axis}]"

    def _open_region(self, header: str) -> list[PlannedDraw]:
        self._line(f"def {header}:")
        self._depth += 1
        self._regions.append([])
        return self._regions[-1]

    def _close_region(self) -> None:
        self._depth -= 1
        self._regions.pop()
