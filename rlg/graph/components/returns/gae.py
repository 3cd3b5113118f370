"""Generalized advantage estimation."""

from __future__ import annotations

from rlg.errors import ComponentError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.returns.sequences import Episodes
from rlg.graph.limits import Fraction


class GAE(Episodes):
    """Sums of TD errors, discounted by gamma * lambda: Schulman et al. (2016).

    rewards, values: float [T, B] (or [B, T], [T]); bootstrap: [B], V behind the last step. Gives
    advantages and returns (advantages + values), constants for gradients.
    """

    def __init__(self, gamma: Fraction = 0.99, gae_lambda: float = 0.95) -> None:
        self.gamma = gamma
        self.gae_lambda = gae_lambda
        if not 0.0 <= gae_lambda <= 1.0:
            raise ComponentError(
                f"{self.path_or_name}: gae_lambda must be between 0 and 1, got {gae_lambda}."
            )

    @api
    @graph_fn
    def call(
        self,
        rewards: Tensor,
        values: Tensor,
        bootstrap: Tensor,
        terminals: Tensor,
        truncations: Tensor | None = None,
        final_values: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        ops = self.ops
        r, v, *masks = self.ordered(rewards, values, terminals, truncations, final_values)
        td = r + self.gamma * self.next_values(v, bootstrap, *masks) - v
        decay = self.gamma * self.gae_lambda * ops.ones_like(td)
        factors = ops.where(self.ends(*masks[:2]), 0.0, decay)
        advantages = self.backward(td, factors, ops.zeros_like(bootstrap))
        advantages = ops.stop_gradient(self.time_first(advantages))
        return advantages, advantages + ops.stop_gradient(values)

    @api
    @graph_fn
    def td_errors(
        self,
        rewards: Tensor,
        values: Tensor,
        bootstrap: Tensor,
        terminals: Tensor,
        truncations: Tensor | None = None,
        final_values: Tensor | None = None,
    ) -> Tensor:
        """r + gamma * V(s') - V(s), [T, B]."""
        r, v, *masks = self.ordered(rewards, values, terminals, truncations, final_values)
        td = r + self.gamma * self.next_values(v, bootstrap, *masks) - v
        return self.ops.stop_gradient(self.time_first(td))
