"""The loss of proximal policy optimization."""

from __future__ import annotations

from rlg.errors import ComponentError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.losses.items import ActorCriticLoss, standardized
from rlg.graph.spaces import Space


class PPOLoss(ActorCriticLoss):
    """-min(r A, clip(r, 1 - e, 1 + e) A) - ent_coef * H + vf_coef * (V - R)^2: Schulman et al.

    (2017), r = pi(a|s) / pi_old(a|s), e = `clip_range`. log_probs, values, entropies: float [B],
    also with time; old_log_probs, old_values: as they were when the policy acted; advantages,
    returns: constants for gradients. Without entropies there is no bonus. clip_range: one number,
    from a schedule (default: the constructor's). With `clip_range_vf` the value moves no further
    than that from old_values, and the larger of both squares counts. `normalize_advantage` gives
    advantages mean 0 and standard deviation 1 over the batch.
    """

    def __init__(
        self,
        clip_range: float = 0.2,
        clip_range_vf: float | None = None,
        vf_coef: float = 0.5,
        ent_coef: float = 0.0,
        normalize_advantage: bool = True,
    ) -> None:
        self.clip_range = clip_range
        self.clip_range_vf = clip_range_vf
        self.vf_coef = vf_coef
        self.ent_coef = ent_coef
        self.normalize_advantage = normalize_advantage

    def create_variables(
        self,
        *,
        log_probs: Space | None = None,
        old_log_probs: Space | None = None,
        advantages: Space | None = None,
        entropies: Space | None = None,
        values: Space | None = None,
        old_values: Space | None = None,
        returns: Space | None = None,
    ) -> None:
        self.check_not_negative(vf_coef=self.vf_coef, ent_coef=self.ent_coef)
        for name in ("clip_range", "clip_range_vf"):
            limit = getattr(self, name)
            if limit is not None and limit <= 0:
                raise ComponentError(f"{self.path}: {name} must be positive, got {limit}.")
        self.check_one_each(log_probs=log_probs, old_log_probs=old_log_probs, entropies=entropies)
        self.check_one_each(advantages=advantages, returns=returns)
        self.check_one_each(values=values, old_values=old_values)

    @api
    @graph_fn(fold_time=True)
    def normalize(self, advantages: Tensor) -> Tensor:
        """Mean 0 and standard deviation 1, over batch and time."""
        return standardized(self.ops, advantages)

    @api
    @graph_fn(fold_time=True)
    def policy_loss(
        self,
        log_probs: Tensor,
        old_log_probs: Tensor,
        advantages: Tensor,
        entropies: Tensor | None = None,
        clip_range: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The policy's part of each item, with the bonus for entropy; and the ratios."""
        ops = self.ops
        advantages = ops.stop_gradient(advantages)
        ratio = ops.exp(log_probs - ops.stop_gradient(old_log_probs))
        if clip_range is None:
            near = ops.clip(ratio, 1.0 - self.clip_range, 1.0 + self.clip_range)
        else:
            near = ops.minimum(ops.maximum(ratio, 1.0 - clip_range), 1.0 + clip_range)
        items = -ops.minimum(ratio * advantages, near * advantages)
        return items if entropies is None else items - self.ent_coef * entropies, ratio

    @api
    @graph_fn(fold_time=True)
    def value_loss(self, values: Tensor, old_values: Tensor, returns: Tensor) -> Tensor:
        """The value function's part of each item."""
        ops, limit = self.ops, self.clip_range_vf
        returns, old_values = ops.stop_gradient(returns), ops.stop_gradient(old_values)
        items = ops.square(values - returns)
        if limit is not None:
            near = old_values + ops.clip(values - old_values, -limit, limit)
            items = ops.maximum(items, ops.square(near - returns))
        return self.vf_coef * items

    @api
    def loss(
        self,
        log_probs: Tensor,
        entropies: Tensor | None,
        values: Tensor,
        old_log_probs: Tensor,
        old_values: Tensor,
        advantages: Tensor,
        returns: Tensor,
        weights: Tensor | None = None,
        clip_range: Tensor | None = None,
    ) -> Tensor:
        """The mean, the loss of each item, and diagnostics; weights [B] multiply once."""
        if self.normalize_advantage:
            advantages = self.normalize(advantages)
        policy, ratio = self.policy_loss(
            log_probs, old_log_probs, advantages, entropies, clip_range
        )
        value = self.value_loss(values, old_values, returns)
        loss, items = self.total(policy, value, weights)
        with self.no_gradient():
            found = self.diagnostics(
                policy, value, log_probs, old_log_probs, ratio, entropies, clip_range
            )
        return loss, items, found

    @graph_fn(fold_time=True)
    def total(self, policy: Tensor, value: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
        return self.weigh(policy + value, weights)

    @graph_fn(fold_time=True)
    def diagnostics(
        self,
        policy: Tensor,
        value: Tensor,
        log_probs: Tensor,
        old_log_probs: Tensor,
        ratio: Tensor,
        entropies: Tensor | None,
        clip_range: Tensor | None,
    ) -> Tensor:
        """Means over the batch, coefficients taken out; the KL divergence by Schulman's estimate.

        (r - 1) - log r is never negative. Without entropies -log pi stands for them.
        """
        ops, e = self.ops, self.clip_range if clip_range is None else clip_range
        means = self.parts(policy, value, log_probs, entropies)
        return {
            **means,
            "approx_kl": ops.mean((ratio - 1.0) - (log_probs - old_log_probs)),
            "clip_fraction": ops.mean(ops.where(ops.abs(ratio - 1.0) > e, 1.0, 0.0)),
        }
