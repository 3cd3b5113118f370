"""Off-policy corrected returns."""

from __future__ import annotations

from rlg.errors import ComponentError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.returns.sequences import Episodes
from rlg.graph.limits import Fraction


class VTrace(Episodes):
    """V-trace targets: Espeholt et al. (2018), equation 1.

    log_probs, behaviour_log_probs: float [T, B] (or [B, T], [T]), of the actions taken, under the
    policy that learns and the one that acted; rewards, values: as these; bootstrap: [B], V behind
    the last step. Returns value targets, policy-gradient advantages and the importance weights
    before clipping, all constants for gradients. `rho_bar`, `c_bar` and `pg_rho_bar` bound the
    weights; with `pg_rho_bar` None advantages are not weighed, for losses that do so themselves.
    """

    def __init__(
        self,
        gamma: Fraction = 0.99,
        rho_bar: float = 1.0,
        c_bar: float = 1.0,
        pg_rho_bar: float | None = 1.0,
    ) -> None:
        self.gamma = gamma
        self.rho_bar = rho_bar
        self.c_bar = c_bar
        self.pg_rho_bar = pg_rho_bar
        bounds = [bound for bound in (rho_bar, c_bar, pg_rho_bar) if bound is not None]
        if min(bounds) <= 0.0 or c_bar > rho_bar:
            raise ComponentError(
                f"{self.path_or_name}: rho_bar is {rho_bar}, c_bar {c_bar} and pg_rho_bar "
                f"{pg_rho_bar}; give positive ones with c_bar <= rho_bar."
            )

    @api
    @graph_fn
    def call(
        self,
        log_probs: Tensor,
        behaviour_log_probs: Tensor,
        rewards: Tensor,
        values: Tensor,
        bootstrap: Tensor,
        terminals: Tensor,
        truncations: Tensor | None = None,
        final_values: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        ops, gamma = self.ops, self.gamma
        r, v, *masks = self.ordered(rewards, values, terminals, truncations, final_values)
        weights = ops.exp(log_probs - behaviour_log_probs)
        w = self.time_first(weights)
        rho, c = self._at_most(w, self.rho_bar), self._at_most(w, self.c_bar)

        td = rho * (r + gamma * self.next_values(v, bootstrap, *masks) - v)
        factors = ops.where(self.ends(*masks[:2]), 0.0, gamma * c)
        vs = v + self.backward(td, factors, ops.zeros_like(bootstrap))  # [T, B]
        advantages = r + gamma * self.next_values(vs, bootstrap, *masks) - v
        if self.pg_rho_bar is not None:
            advantages = self._at_most(w, self.pg_rho_bar) * advantages
        vs, advantages = self.ordered(vs, advantages)
        return ops.stop_gradient(vs), ops.stop_gradient(advantages), ops.stop_gradient(weights)

    def _at_most(self, weights: Tensor, bound: float) -> Tensor:
        return self.ops.clip(weights, 0.0, bound)
