"""Returns with a discount of their own for each step."""

from __future__ import annotations

from rlg.errors import ComponentError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.returns.sequences import Sequences
from rlg.graph.limits import Fraction
from rlg.graph.spaces import Space


class LambdaReturns(Sequences):
    """G_t = r_t + d_t ((1 - lambda) v_t + lambda G_{t+1}): Sutton and Barto (2018), equation 12.18.

    rewards, discounts, next_values: float [T, B] (or [B, T], [T]): of each step what it earned, how
    much of the future counts (0 where an episode ends) and the value of the state that it led to.
    Behind the last step G is its value. With a lambda of 1 these are returns with per-step
    discounts, with 0 the targets of TD(0). Gives constants for gradients.
    """

    def __init__(self, lambda_: Fraction = 0.95) -> None:
        self.lambda_ = lambda_

    def create_variables(self, *, rewards: Space, discounts: Space, next_values: Space) -> None:
        if not 0.0 <= self.lambda_ <= 1.0:
            raise ComponentError(
                f"{self.path}: lambda_ must be between 0 and 1, got {self.lambda_}."
            )
        self.check_order("rewards", rewards)
        self.check_same("float", discounts=discounts, next_values=next_values)

    @api
    @graph_fn
    def call(self, rewards: Tensor, discounts: Tensor, next_values: Tensor) -> Tensor:
        r, d, v = (self.time_first(x) for x in (rewards, discounts, next_values))
        found = self.backward(r + (1.0 - self.lambda_) * d * v, self.lambda_ * d, v[-1])
        return self.ops.stop_gradient(self.time_first(found))
