"""The losses of TD3 and DDPG."""

from __future__ import annotations

from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.losses.sac import SACLoss


class TD3Loss(SACLoss):
    """Deterministic actor-critics: Lillicrap et al. (2016), Fujimoto et al. (2018).

    critic: sum_i 0.5 * (Q_i(s, a) - (r + gamma min_j Q'_j(s', a')))^2; actor: -Q_1(s, pi(s)). q,
    q_next: Tuples of one [B] for each critic, two in TD3 and one in DDPG; q_first: [B], of the
    first one; discounts: see SACLoss.
    """

    @api
    @graph_fn(fold_time=True)
    def critic_loss(  # type: ignore[override]
        self,
        q: Tensor,
        rewards: Tensor,
        terminals: Tensor,
        q_next: Tensor,
        weights: Tensor | None = None,
        discounts: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The mean, the loss of each item, and TD errors (the mean over the critics), [B]."""
        return self.squares(q, rewards, terminals, self.smallest(q_next), weights, discounts)

    @api
    @graph_fn(fold_time=True)
    def actor_loss(self, q_first: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The mean and the loss of each item, for what the policy does now."""
        return self.weigh(-q_first, None)
