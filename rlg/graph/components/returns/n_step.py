"""Returns of n steps and a value."""

from __future__ import annotations

from rlg.errors import ComponentError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.returns.sequences import Episodes
from rlg.graph.limits import Fraction, PositiveInt


class NStepReturns(Episodes):
    """Computes r_t + gamma r_{t+1} + ... + gamma^n V(s_{t+n}): Mnih et al. (2016).

    rewards, values: float [T, B] (or [B, T], [T]); bootstrap: [B], V behind the last step. A return
    has fewer than `n_step` rewards where its episode or the sequence ends before; without `n_step`
    it runs to that end. Returns constants for gradients.
    """

    def __init__(self, gamma: Fraction = 0.99, n_step: PositiveInt | None = None) -> None:
        self.gamma = gamma
        self.n_step = n_step
        if n_step is not None and n_step < 1:
            raise ComponentError(
                f"{self.path_or_name}: n_step must be at least 1, or None for all, got {n_step}."
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
    ) -> Tensor:
        ops, gamma = self.ops, self.gamma
        r, v, *masks = self.ordered(rewards, values, terminals, truncations, final_values)
        ends = self.ends(*masks[:2])
        tails = gamma * self.next_values(v, bootstrap, *masks)
        if self.n_step is None:
            factors = ops.where(ends, 0.0, gamma * ops.ones_like(r))
            returns = self.backward(r + ops.where(ends, tails, 0.0), factors, bootstrap)
        else:
            returns = r + tails
            for _ in range(self.n_step - 1):
                longer = gamma * self.shifted(returns, bootstrap)
                returns = r + ops.where(ends, tails, longer)
        return ops.stop_gradient(self.time_first(returns))
