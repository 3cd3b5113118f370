"""The loss of advantage actor-critic."""

from __future__ import annotations

from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.losses.items import ActorCriticLoss, standardized
from rlg.graph.spaces import Space


class A2CLoss(ActorCriticLoss):
    """-A log pi(a|s) - ent_coef * H + vf_coef * (R - V)^2: Mnih et al. (2016).

    log_probs, entropies, values, advantages, returns: float [B], also with time. Advantages and
    returns are constants for gradients. Without entropies there is no bonus. `normalize_advantage`
    gives advantages mean 0 and standard deviation 1 over the batch.
    """

    def __init__(
        self, vf_coef: float = 0.5, ent_coef: float = 0.0, normalize_advantage: bool = False
    ) -> None:
        self.vf_coef = vf_coef
        self.ent_coef = ent_coef
        self.normalize_advantage = normalize_advantage

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
    def policy_loss(
        self, log_probs: Tensor, advantages: Tensor, entropies: Tensor | None = None
    ) -> Tensor:
        """The policy's part of each item, with the bonus for entropy."""
        items = -self.ops.stop_gradient(advantages) * log_probs
        return items if entropies is None else items - self.ent_coef * entropies

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
        entropies: Tensor | None,
        values: Tensor,
        advantages: Tensor,
        returns: Tensor,
        weights: Tensor | None = None,
    ) -> Tensor:
        """The mean, the loss of each item, and means of its parts; weights [B] multiply once."""
        if self.normalize_advantage:
            advantages = self.normalize(advantages)
        policy = self.policy_loss(log_probs, advantages, entropies)
        value = self.value_loss(values, returns)
        loss, items = self.total(policy, value, weights)
        with self.no_gradient():
            return loss, items, self.diagnostics(policy, value, log_probs, entropies)

    @graph_fn(fold_time=True)
    def normalize(self, advantages: Tensor) -> Tensor:
        return standardized(self.ops, advantages)

    @graph_fn(fold_time=True)
    def total(self, policy: Tensor, value: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
        return self.weigh(policy + value, weights)

    @graph_fn(fold_time=True)
    def diagnostics(
        self, policy: Tensor, value: Tensor, log_probs: Tensor, entropies: Tensor | None
    ) -> Tensor:
        """Means over the batch, coefficients taken out; -log pi stands for missing entropies."""
        return self.parts(policy, value, log_probs, entropies)
