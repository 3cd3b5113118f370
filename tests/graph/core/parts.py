"""Small components and helpers that the tests of the core share."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlg.graph import Component, Size, Tensor, api, graph_fn
from rlg.graph.core.assembly.assemble import Assembler, Fresh
from rlg.graph.core.assembly.records import Graph
from rlg.graph.core.component.component import name_trees
from rlg.graph.core.component.mode import installed
from rlg.graph.spaces import Box

VECTOR = Box((2,))
SCALAR = Box()
ALONE = Box(ranks="")
ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "float32")
LINE = np.array([1.0, 2.0, 3.0], "float32")


class AddOne(Component):
    @api
    @graph_fn
    def call(self, x: Tensor) -> Tensor:
        return x + 1.0


class Plus(Component):
    @api
    @graph_fn
    def call(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


class Dense(Component):
    def __init__(self, units: int = 2) -> None:
        self.units = units

    def create_variables(self, *, inputs: Box) -> None:
        shape = (inputs.shape[-1], self.units)
        self.w = self.variable(
            "kernel", shape, value=lambda g, s: g.uniform(-1, 1, s), trainable=True
        )
        self.b = self.variable("bias", (self.units,), trainable=True)

    @api
    @graph_fn(fold_time=True)
    def call(self, inputs: Tensor) -> Tensor:
        return self.ops.matmul(inputs, self.w) + self.b


class Noise(Component):
    @api
    @graph_fn
    def call(self, x: Tensor) -> Tensor:
        return x + self.ops.random_uniform(self.ops.shape_of(x))


class Counter(Component):
    def create_variables(self) -> None:
        self.count = self.variable("count", dtype="int64")

    @api
    @graph_fn
    def up(self, n: Tensor) -> Tensor:
        self.ops.assign(self.count, self.count + n)
        return self.count + 0


class Memory(Component):
    """Its `update` takes the indices of its own `sample`."""

    def __init__(self, capacity: int = 10) -> None:
        self.capacity = capacity

    def create_variables(self, *, records: Box) -> None:
        self.rows = self.variable("rows", (self.capacity, *records.shape))
        self.size = self.variable("size", dtype="int64")
        self.weights = self.variable("weights", (self.capacity,))

    @api
    @graph_fn
    def insert(self, records: Tensor) -> None:
        ops = self.ops
        n = ops.batch_size(records)
        ops.scatter_rows(self.rows, (self.size + ops.arange(n)) % self.capacity, records)
        ops.assign(self.size, self.size + n)

    @api
    @graph_fn
    def sample(self, n: Size) -> tuple[Tensor, Tensor]:
        rows = self.ops.random_rows((n,), self.size)
        return self.ops.take_rows(self.rows, rows), rows

    @api
    @graph_fn
    def update(self, indices: Tensor, values: Tensor) -> None:
        self.ops.scatter_rows(self.weights, indices, values)


def trace(root: Component, api_name: str, **statics: Any) -> Graph:
    """Assembles one API method without spaces and without a backend."""
    parts = name_trees([root])
    method = root.api_methods()[api_name]
    arguments = {p.name: statics.get(p.name, Fresh()) for p in method.parameters}
    assembler = Assembler()
    with installed(assembler, parts):
        return assembler.assemble(root, method, arguments)
