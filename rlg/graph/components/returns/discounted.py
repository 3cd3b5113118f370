"""Discounted sums over sequences."""

from __future__ import annotations

from rlg.errors import ComponentError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.returns.sequences import Sequences
from rlg.graph.limits import Fraction
from rlg.graph.spaces import Space


class DiscountedSum(Sequences):
    """Computes y_t = x_t + gamma * y_{t+1}, anew in each sequence.

    inputs: float [T, B], [B, T] or [T]; ends: bool, true at the last step of a sequence;
    bootstrap: [B], y behind the last step where that ends no sequence (default 0).
    """

    def __init__(self, gamma: Fraction = 0.99) -> None:
        self.gamma = gamma

    def create_variables(
        self, *, ends: Space, inputs: Space | None = None, bootstrap: Space | None = None
    ) -> None:
        if not 0.0 <= self.gamma <= 1.0:
            raise ComponentError(f"{self.path}: gamma must be between 0 and 1, got {self.gamma}.")
        self.check_order("ends", ends, "bool")
        self.check_same("float", inputs=inputs, bootstrap=bootstrap)

    @api
    @graph_fn
    def call(self, inputs: Tensor, ends: Tensor, bootstrap: Tensor | None = None) -> Tensor:
        ops, x = self.ops, self.time_first(inputs)
        factors = ops.where(self.time_first(ends), 0.0, self.gamma * ops.ones_like(x))
        start = ops.zeros_like(x[0]) if bootstrap is None else bootstrap
        return self.time_first(self.backward(x, factors, start))

    @api
    @graph_fn
    def steps_left(self, ends: Tensor) -> Tensor:
        """Steps to the end of the sequence, this one included; at a first step, its length."""
        ops, last = self.ops, self.time_first(ends)
        ones = ops.ones_like(ops.cast(last, "float32"))
        steps = self.backward(ones, ops.where(last, 0.0, ones), ops.zeros_like(ones[0]))
        return ops.cast(self.time_first(steps), "int64")

    @api
    @graph_fn
    def decays(self, ends: Tensor) -> Tensor:
        """gamma^k for the k-th step of each sequence, from 1 on: what a sequence is weighed by."""
        ops, last = self.ops, self.time_first(ends)
        ones = ops.ones_like(ops.cast(last, "float32"))

        def step(before: Tensor, ended: Tensor) -> tuple[Tensor, Tensor]:
            return ops.where(ended > 0.0, ops.ones_like(before), self.gamma * before), before + 0.0

        _, powers = ops.scan(step, ones[0], ops.where(last, ones, 0.0 * ones))
        return self.time_first(powers)
