"""What assembly and build cost by the number of components: `python -m rlg.bench.assembly`.

Chains show that both phases are linear in the size of the graph; the tree of 57 components has
the size of a large agent (the original RLgraph took 400 ms to assemble one: it inspected stacks).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from rlg.backends.executor import make_executor
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Box, FloatBox

REPEATS = 7


class Add(Component):
    """Adds a variable to its input."""

    def create_variables(self, *, inputs: Box) -> None:
        self.offset = self.variable("offset", inputs.shape, trainable=True)

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        """Adds the offset."""
        return inputs + self.offset


class Chain(Component):
    """Components in a row."""

    def __init__(self, length: int) -> None:
        self.parts = [Add() for _ in range(length)]

    @api
    def call(self, inputs: Tensor) -> Tensor:
        """Passes the inputs through all of them."""
        for part in self.parts:
            inputs = part.call(inputs)
        return inputs


class Tree(Component):
    """Chains of chains: `width` children at each of `depth` levels."""

    def __init__(self, width: int, depth: int) -> None:
        self.parts = [Tree(width, depth - 1) if depth > 1 else Add() for _ in range(width)]

    @api
    def call(self, inputs: Tensor) -> Tensor:
        """Passes the inputs through the whole tree."""
        for child in self.parts:
            inputs = child.call(inputs)
        return inputs


def measure(make: Callable[[], Component], backend: str) -> tuple[int, float, float]:
    """Components, and median milliseconds of assembly and of build."""
    runs = []
    for _ in range(REPEATS):
        built = make_executor(backend).build(make(), {"inputs": FloatBox(shape=(4,))})
        runs.append((built.assembly * 1e3, built.build * 1e3))
    assembly, build = (statistics.median(values) for values in zip(*runs, strict=True))
    return built.components, assembly, build


def main(backends: tuple[str, ...] = ("numpy", "torch", "tf")) -> None:
    """Prints the table."""
    table = Table(title="Assembly and build, median of 7 runs")
    for column in ("graph", "backend", "components", "assembly ms", "build ms", "us per component"):
        table.add_column(column, justify="left" if column in ("graph", "backend") else "right")
    graphs: list[tuple[str, Callable[[], Component]]] = [
        ("chain", lambda: Chain(10)),
        ("chain", lambda: Chain(100)),
        ("chain", lambda: Chain(1000)),
        ("tree", lambda: Tree(7, 2)),
    ]
    for backend in backends:
        make_executor(backend).build(Chain(2), {"inputs": FloatBox(shape=(4,))})
        for name, make in graphs:
            count, assembly, build = measure(make, backend)
            per_component = (assembly + build) / count * 1e3
            table.add_row(
                name, backend, str(count), f"{assembly:.2f}", f"{build:.2f}", f"{per_component:.0f}"
            )
    Console().print(table)


if __name__ == "__main__":
    main()
