"""A component, written once, built alone from nothing but a space, run on every backend."""

from __future__ import annotations

import numpy as np

from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.drawing import text_tree
from rlg.graph.spaces import Box, FloatBox
from rlg.testing import ComponentTest


class Standardize(Component):
    """Scales each feature by a running mean and variance (Welford)."""

    def create_variables(self, *, inputs: Box) -> None:
        self.count = self.variable("count")
        self.mean = self.variable("mean", inputs.shape)
        self.squares = self.variable("squares", inputs.shape)

    @api
    def call(self, inputs: Tensor) -> Tensor:
        self.learn(inputs)
        return self.scale(inputs)

    @graph_fn
    def learn(self, inputs: Tensor) -> None:
        ops = self.ops
        n = ops.cast(ops.batch_size(inputs), "float32")
        total = self.count + n
        shift = ops.mean(inputs, 0) - self.mean
        spread = ops.sum(ops.square(inputs - ops.mean(inputs, 0)), 0)
        ops.assign(self.squares, self.squares + spread + shift * shift * (self.count * n / total))
        ops.assign(self.mean, self.mean + shift * (n / total))
        ops.assign(self.count, total)

    @graph_fn
    def scale(self, inputs: Tensor) -> Tensor:
        return (inputs - self.mean) / self.ops.sqrt(self.squares / self.count + 1e-8)


def main() -> None:
    """Builds the component on each backend and compares what they give."""
    space = FloatBox(shape=(3,))
    batches = [space.sample(seed, batch=64) * [1.0, 5.0, 20.0] for seed in range(4)]
    results = {}
    for backend in ("numpy", "torch", "tf"):
        test = ComponentTest(Standardize(), {"inputs": space}, backend)
        outputs = [test.test("call", batch) for batch in batches]
        results[backend] = outputs[-1]
        built = test.statistics
        print(
            f"{backend:>6}: assembled in {built.assembly * 1e3:.2f} ms, built in "
            f"{built.build * 1e3:.1f} ms; standard deviation of the last batch "
            f"{np.round(outputs[-1].std(0), 3)}"
        )
    error = max(float(np.abs(results["numpy"] - other).max()) for other in results.values())
    print(f"largest difference between backends: {error:.1e}\n")
    print(text_tree(test.executor.builder))
    print(f"\nthe plan that runs:\n\n{test.executor.plan('call').source}")


if __name__ == "__main__":
    main()
