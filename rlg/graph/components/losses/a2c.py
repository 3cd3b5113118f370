"""The loss of advantage actor-critic."""

from __future__ import annotations

from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.losses.items import ItemLoss
from rlg.graph.spaces import Space


class A2CLoss(ItemLoss):
    """-A log pi(a|s) - ent_coef * H + vf_coef * (R - V)^2: Mnih et al. (2016).

    log_probs, entropies, values, advantages, returns: float [B], also with time. Advantages and
    returns are constants for gradients.
    """

    def __init__(self, vf_coef: float = 0.5, ent_coef: float = 0.0) -> None:
        self.vf_coef = vf_coef
        self.ent_coef = ent_coef

    def create_variables(
        self,
        *,
        log_probs: Space | None = None,
        entropies: Space | None = None,
        values: Space | None = None,
        advantages: Space | None = None,
        returns: Space | None = None,
    ) -> None:
        self.check_not_negative(vf_coef=self.vf_coef, ent_coef=self.ent_coef)
        self.check_one_each(log_probs=log_probs, entropies=entropies, values=values)
        self.check_one_each(advantages=advantages, returns=returns)

    @api
    @graph_fn(fold_time=True)
    def policy_loss(self, log_probs: Tensor, advantages: Tensor, entropies: Tensor) -> Tensor:
        """The policy's part of each item, with the bonus for entropy."""
        return -self.ops.stop_gradient(advantages) * log_probs - self.ent_coef * entropies

    @api
    @graph_fn(fold_time=True)
    def value_loss(self, values: Tensor, returns: Tensor) -> Tensor:
        """The value function's part of each item."""
        ops = self.ops
        return self.vf_coef * ops.square(ops.stop_gradient(returns) - values)

    @api
    def loss(
        self,
        log_probs: Tensor,
        entropies: Tensor,
        values: Tensor,
        advantages: Tensor,
        returns: Tensor,
        weights: Tensor | None = None,
    ) -> Tensor:
        """The mean, the loss of each item, and means of its parts; weights [B] multiply once."""
        policy = self.policy_loss(log_probs, advantages, entropies)
        value = self.value_loss(values, returns)
        return self.total(policy, value, entropies, weights)

    @graph_fn(fold_time=True)
    def total(
        self, policy: Tensor, value: Tensor, entropies: Tensor, weights: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        ops = self.ops
        mean, items = self.weigh(policy + value, weights)
        parts = {"policy_loss": policy, "value_loss": value, "entropy": entropies}
        return mean, items, {name: ops.mean(part) for name, part in parts.items()}
