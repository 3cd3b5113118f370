"""The penalty on large weights."""

from __future__ import annotations

from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.limits import NonNegativeFloat


class L2Loss(Component):
    """weight * 0.5 * the sum of all squares of variables, as TensorFlow's l2_loss counts them.

    variables: a Dict, from `component.variables()`; the loss: one number. Krogh and Hertz (1992).
    """

    def __init__(self, weight: NonNegativeFloat = 1e-5) -> None:
        self.weight = weight

    @api
    @graph_fn
    def loss(self, variables: Tensor) -> Tensor:
        ops = self.ops
        sums = [ops.sum(ops.square(value)) for value in variables.values()]
        return 0.5 * self.weight * ops.sum(ops.stack(sums, 0))
