"""Advantage actor-critic as one graph."""

from __future__ import annotations

from typing import Any

from rlg.graph import api
from rlg.graph.components.algorithms.on_policy import Learner, OnPolicy, RecurrentOnPolicy
from rlg.graph.components.losses.a2c import A2CLoss

RMSPROP = {"type": "rmsprop", "learning_rate": 7e-4, "alpha": 0.99, "epsilon": 1e-5}


class A2C(OnPolicy):
    """Advantage actor-critic: Mnih et al. (2016), synchronous. One step on the whole batch.

    act, value, update, normalization: see OnPolicy. Names and defaults are Stable-Baselines3's.
    metrics: loss, policy_loss, value_loss, entropy, gradient_norm, explained_variance.
    """

    def __init__(
        self,
        policy: Any,
        action_space: Any,
        optimizer: Any = None,
        gamma: float = 0.99,
        gae_lambda: float = 1.0,
        ent_coef: float = 0.0,
        vf_coef: float = 0.5,
        max_grad_norm: float | None = 0.5,
        normalize_advantage: bool = False,
        ortho_init: bool = True,
        normalize_observations: bool = False,
        normalize_rewards: bool = False,
        num_envs: int = 1,
    ) -> None:
        super().__init__(
            policy,
            action_space,
            RMSPROP if optimizer is None else optimizer,
            gamma,
            gae_lambda,
            max_grad_norm,
            ortho_init,
            normalize_observations,
            normalize_rewards,
            num_envs,
        )
        self.ent_coef = ent_coef
        self.vf_coef = vf_coef
        self.normalize_advantage = normalize_advantage
        loss = A2CLoss(vf_coef, ent_coef)
        self.learner = Learner(self.policy, loss, self.optimizer, normalize_advantage)

    @api
    def update(
        self, batch: Any, last_values: Any, masks: Any = None, learning_rate: Any = None
    ) -> Any:
        """Learns once from the batch; returns metrics."""
        found = self._prepared(batch, last_values, masks=masks)
        return self._update(batch, *found, learning_rate, masks is not None)

    def _update(
        self, batch: Any, records: Any, explained: Any, learning_rate: Any, has_masks: bool
    ) -> Any:
        figures = self.learner.learn(records, learning_rate, has_masks)
        self._count(batch)
        return self.metrics(figures, explained)


class RecurrentA2C(RecurrentOnPolicy, A2C):
    """A2C with a recurrent policy (`recurrent_actor_critic`); see RecurrentOnPolicy."""

    @api
    def update(  # type: ignore[override]
        self,
        batch: Any,
        last_values: Any,
        hidden: Any,
        masks: Any = None,
        learning_rate: Any = None,
    ) -> Any:
        """Learns once from the batch; returns metrics."""
        found = self._prepared(
            batch, last_values, masks=masks, hidden=hidden, resets=batch["resets"]
        )
        return self._update(batch, *found, learning_rate, masks is not None)
