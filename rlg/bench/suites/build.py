"""What assembly and build cost (figure 5a of the RLgraph paper).

Build: everything from composition to callable functions, minus a hand-written equivalent in the
same rounds. Chains and a tree show that assembly is linear in the size of the graph; the tree of 57
components has the size of a large agent (the original RLgraph took 400 ms to assemble one: it
inspected stacks).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from rlg.backends.executor import make_executor
from rlg.bench.measuring import block_of, interleave
from rlg.bench.results import Row
from rlg.bench.running import Settings
from rlg.bench.suites import models
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Box, FloatBox

NAMES = {"mlp": "dueling DQN, MLP", "cnn": "dueling DQN, Nature CNN"}
GRAPHS: dict[str, Callable[[], Component]] = {
    "chain of 10": lambda: Chain(10),
    "chain of 100": lambda: Chain(100),
    "chain of 1000": lambda: Chain(1000),
    "tree of 57": lambda: Tree(7, 2),
}


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


def measure(settings: Settings) -> Iterator[Row]:
    """Builds of agents against hand-written ones, and of graphs that grow."""
    for backend in settings.frameworks():
        yield from _agents(backend, settings)
    names = settings.choose(["tree of 57"], list(GRAPHS))
    for backend in settings.backends:
        yield from (_graph(name, backend, settings) for name in names)


def _agents(backend: str, settings: Settings) -> Iterator[Row]:
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "memory": (
            partial(models.build_memory, backend),
            partial(models.handwritten_memory, backend),
        )
    }
    for kind, name in NAMES.items():
        by_hand = partial(models.handwritten_dqn, backend, kind)
        pairs[name] = partial(models.build_dqn, backend, kind), by_hand
    for case, (ours, theirs) in pairs.items():
        blocks = {"ours": block_of(ours), "theirs": block_of(theirs)}
        found = interleave(blocks, settings.rounds(5, 15))
        costs, others = tuple(found["ours"]), tuple(found["theirs"])
        yield Row(case, f"rlg {backend}", "by hand", "build", costs, others, "difference")


def _graph(name: str, backend: str, settings: Settings) -> Row:
    def build() -> object:
        return make_executor(backend).build(GRAPHS[name](), {"inputs": FloatBox(shape=(4,))})

    costs = interleave({"ours": block_of(build)}, settings.rounds(5, 9))["ours"]
    return Row(name, f"rlg {backend}", "", "build", tuple(costs), kind="figure")
