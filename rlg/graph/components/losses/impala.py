"""The loss of IMPALA."""

from __future__ import annotations

from rlg.errors import ComponentError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.losses.items import ItemLoss
from rlg.graph.components.returns.vtrace import VTrace
from rlg.graph.limits import Fraction
from rlg.graph.spaces import Space


class IMPALALoss(ItemLoss):
    """Policy gradient, value and entropy with V-trace targets: Espeholt et al. (2018).

    log_probs, behaviour_log_probs, entropies, values, rewards: float [T, B] (or [B, T]);
    bootstrap: [B], the value behind the last step; terminals, truncations: bool; see VTrace. An
    item is a sequence: its loss is the sum over time, [B]. `vf_coef` weighs 0.5 * (v - V)^2 as
    in the paper; `reward_clip` bounds rewards on both sides (None: not at all).
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
    ) -> None:
        self.gamma = gamma
        self.vf_coef = vf_coef
        self.ent_coef = ent_coef
        self.reward_clip = reward_clip
        self.rho_bar = rho_bar
        self.c_bar = c_bar
        self.pg_rho_bar = pg_rho_bar
        self.vtrace = VTrace(gamma, rho_bar, c_bar, pg_rho_bar)

    def create_variables(self, *, log_probs: Space, entropies: Space, values: Space) -> None:
        self.check_not_negative(vf_coef=self.vf_coef, ent_coef=self.ent_coef)
        self.check_one_each(log_probs=log_probs, entropies=entropies, values=values)
        if self.reward_clip is not None and self.reward_clip <= 0:
            raise ComponentError(
                f"{self.path}: reward_clip must be positive or None, got {self.reward_clip}."
            )
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
        return self.total(log_probs, entropies, values, targets, advantages, weights)

    @graph_fn
    def clip_rewards(self, rewards: Tensor) -> Tensor:
        assert self.reward_clip is not None
        return self.ops.clip(rewards, -self.reward_clip, self.reward_clip)

    @graph_fn
    def total(
        self,
        log_probs: Tensor,
        entropies: Tensor,
        values: Tensor,
        targets: Tensor,
        advantages: Tensor,
        weights: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        ops = self.ops
        policy = -advantages * log_probs
        value = 0.5 * ops.square(targets - values)
        steps = policy + self.vf_coef * value - self.ent_coef * entropies  # [T, B]
        mean, items = self.weigh(ops.sum(steps, self._time_axis), weights)
        parts = {"policy_loss": policy, "value_loss": value, "entropy": entropies}
        return mean, items, {name: ops.mean(part) for name, part in parts.items()}
