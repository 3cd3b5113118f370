"""The loss of proximal policy optimization."""

from __future__ import annotations

from rlg.errors import ComponentError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.losses.items import ItemLoss
from rlg.graph.spaces import Space


class PPOLoss(ItemLoss):
    """-min(r A, clip(r, 1 - e, 1 + e) A) - ent_coef * H + vf_coef * (V - R)^2: Schulman et al.

    (2017), r = pi(a|s) / pi_old(a|s), e = `clip_range`. log_probs, values, entropies: float [B],
    also with time; old_log_probs, old_values: as they were when the policy acted; advantages,
    returns: constants for gradients. With `clip_range_vf` the value moves no further than that
    from old_values, and the larger of both squares counts. `normalize_advantage` gives advantages
    mean 0 and standard deviation 1 over the batch.
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
                raise ComponentError(f"{self.path}: {name} is {limit}; give a positive one.")
        self.check_one_each(log_probs=log_probs, old_log_probs=old_log_probs, entropies=entropies)
        self.check_one_each(advantages=advantages, returns=returns)
        self.check_one_each(values=values, old_values=old_values)

    @api
    @graph_fn(fold_time=True)
    def normalize(self, advantages: Tensor) -> Tensor:
        """Mean 0 and standard deviation 1, over batch and time."""
        ops = self.ops
        centred = advantages - ops.mean(advantages)
        return centred / (ops.sqrt(ops.mean(ops.square(centred))) + 1e-8)

    @api
    @graph_fn(fold_time=True)
    def policy_loss(
        self, log_probs: Tensor, old_log_probs: Tensor, advantages: Tensor, entropies: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The policy's part of each item, with the bonus for entropy; and the ratios."""
        ops, e = self.ops, self.clip_range
        advantages = ops.stop_gradient(advantages)
        ratio = ops.exp(log_probs - ops.stop_gradient(old_log_probs))
        clipped = ops.clip(ratio, 1.0 - e, 1.0 + e)
        surrogate = ops.minimum(ratio * advantages, clipped * advantages)
        return -surrogate - self.ent_coef * entropies, ratio

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
        entropies: Tensor,
        values: Tensor,
        old_log_probs: Tensor,
        old_values: Tensor,
        advantages: Tensor,
        returns: Tensor,
        weights: Tensor | None = None,
    ) -> Tensor:
        """The mean, the loss of each item, and diagnostics; weights [B] multiply once."""
        if self.normalize_advantage:
            advantages = self.normalize(advantages)
        policy, ratio = self.policy_loss(log_probs, old_log_probs, advantages, entropies)
        value = self.value_loss(values, old_values, returns)
        loss, items = self.total(policy, value, weights)
        return loss, items, self.diagnostics(policy, value, entropies, ratio)

    @graph_fn(fold_time=True)
    def total(self, policy: Tensor, value: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
        return self.weigh(policy + value, weights)

    @graph_fn(fold_time=True)
    def diagnostics(
        self, policy: Tensor, value: Tensor, entropies: Tensor, ratio: Tensor
    ) -> Tensor:
        """Means over the batch; the KL divergence by Schulman's estimate (r - 1) - log r."""
        ops = self.ops
        beyond = ops.where(ops.abs(ratio - 1.0) > self.clip_range, 1.0, 0.0)
        means = {
            "policy_loss": policy,
            "value_loss": value,
            "entropy": entropies,
            "approx_kl": (ratio - 1.0) - ops.log(ratio),
            "clip_fraction": beyond,
        }
        return {name: ops.mean(part) for name, part in means.items()}
