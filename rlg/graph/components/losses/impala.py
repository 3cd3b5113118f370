"""The loss of IMPALA."""

from __future__ import annotations

from rlg.errors import ComponentError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.losses.items import ItemLoss, standardized
from rlg.graph.components.returns.vtrace import VTrace
from rlg.graph.limits import Fraction
from rlg.graph.spaces import Space


class IMPALALoss(ItemLoss):
    """Policy gradient, value and entropy with V-trace targets: Espeholt et al. (2018).

    log_probs, behaviour_log_probs, entropies, values, rewards: float [T, B] (or [B, T]);
    bootstrap: [B], the value behind the last step; terminals, truncations: bool; see VTrace. An
    item is a sequence: its loss is the sum over time, [B]. `vf_coef` weighs 0.5 * (v - V)^2 as
    in the paper; `reward_clip` bounds rewards on both sides (None: not at all). With a `clip_range`
    the policy's part is PPO's clipped surrogate on V-trace's advantages ("APPO"), and the ratio of
    probabilities, not V-trace, weighs them.
    """

    def __init__(
        self,
        gamma: Fraction = 0.99,
        vf_coef: float = 0.5,
        ent_coef: float = 0.00025,
        reward_clip: float | None = 1.0,
        rho_bar: float = 1.0,
        c_bar: float = 1.0,
        pg_rho_bar: float = 1.0,
        clip_range: float | None = None,
        normalize_advantage: bool = False,
    ) -> None:
        self.gamma = gamma
        self.vf_coef = vf_coef
        self.ent_coef = ent_coef
        self.reward_clip = reward_clip
        self.rho_bar = rho_bar
        self.c_bar = c_bar
        self.pg_rho_bar = pg_rho_bar
        self.clip_range = clip_range
        self.normalize_advantage = normalize_advantage
        self.vtrace = VTrace(gamma, rho_bar, c_bar, pg_rho_bar if clip_range is None else None)

    def create_variables(self, *, log_probs: Space, entropies: Space, values: Space) -> None:
        self.check_not_negative(vf_coef=self.vf_coef, ent_coef=self.ent_coef)
        self.check_one_each(log_probs=log_probs, entropies=entropies, values=values)
        for name in ("reward_clip", "clip_range"):
            limit = getattr(self, name)
            if limit is not None and limit <= 0:
                raise ComponentError(f"{self.path}: {name} must be positive or None, got {limit}.")
        self._time_axis = max((values.ranks or "").find("T"), 0)

    @api
    def loss(
        self,
        log_probs: Tensor,
        behaviour_log_probs: Tensor,
        entropies: Tensor,
        values: Tensor,
        bootstrap: Tensor,
        rewards: Tensor,
        terminals: Tensor,
        truncations: Tensor | None = None,
        final_values: Tensor | None = None,
        weights: Tensor | None = None,
    ) -> Tensor:
        """The mean, the loss of each sequence, [B], and means of its parts over all steps."""
        if self.reward_clip is not None:
            rewards = self.clip_rewards(rewards)
        with self.no_gradient():
            targets, advantages, _ = self.vtrace.call(
                log_probs,
                behaviour_log_probs,
                rewards,
                values,
                bootstrap,
                terminals,
                truncations,
                final_values,
            )
            weighed = self.weighed(log_probs, behaviour_log_probs)
            if self.normalize_advantage:
                advantages = self.normalize(advantages)
        policy = self.policy_loss(log_probs, behaviour_log_probs, advantages)
        loss, items, means = self.total(policy, entropies, values, targets, weights)
        return loss, items, self.report(means, weighed)

    @graph_fn
    def clip_rewards(self, rewards: Tensor) -> Tensor:
        assert self.reward_clip is not None
        return self.ops.clip(rewards, -self.reward_clip, self.reward_clip)

    @graph_fn(fold_time=True)
    def normalize(self, advantages: Tensor) -> Tensor:
        return standardized(self.ops, advantages)

    @graph_fn
    def policy_loss(
        self, log_probs: Tensor, behaviour_log_probs: Tensor, advantages: Tensor
    ) -> Tensor:
        """The policy's part of each step."""
        ops, clip = self.ops, self.clip_range
        if clip is None:
            return -advantages * log_probs
        ratio = ops.exp(log_probs - ops.stop_gradient(behaviour_log_probs))
        near = ops.clip(ratio, 1.0 - clip, 1.0 + clip)
        return -ops.minimum(ratio * advantages, near * advantages)

    @graph_fn
    def total(
        self,
        policy: Tensor,
        entropies: Tensor,
        values: Tensor,
        targets: Tensor,
        weights: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        ops = self.ops
        value = 0.5 * ops.square(targets - values)
        steps = policy + self.vf_coef * value - self.ent_coef * entropies  # [T, B]
        mean, items = self.weigh(ops.sum(steps, self._time_axis), weights)
        parts = {"policy_loss": policy, "value_loss": value, "entropy": entropies}
        return mean, items, {name: ops.mean(part) for name, part in parts.items()}

    @graph_fn
    def weighed(self, log_probs: Tensor, behaviour_log_probs: Tensor) -> Tensor:
        """How far the policy that learns is from the one that acted: Schulman's estimate of the
        divergence, and the mean importance weight after clipping. 0 and 1 if they are the same.
        """
        ops = self.ops
        logs = log_probs - behaviour_log_probs
        ratio = ops.exp(logs)
        return {
            "approx_kl": ops.mean(ratio - 1.0 - logs),
            "importance_weight": ops.mean(ops.clip(ratio, 0.0, self.rho_bar)),
        }

    @graph_fn
    def report(self, means: Tensor, weighed: Tensor) -> Tensor:
        return {**means, **weighed}
