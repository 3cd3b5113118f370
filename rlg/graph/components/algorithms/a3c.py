"""Asynchronous advantage actor-critic: A2C whose gradients and steps are in different processes."""

from __future__ import annotations

from typing import Any

from rlg.graph import api
from rlg.graph.components.algorithms.a2c import A2C, RecurrentA2C


class A3C(A2C):
    """Asynchronous advantage actor-critic: Mnih et al. (2016). `update` in two halves.

    `gradients` takes what A2C's `update` takes but for the learning rate, changes nothing, and
    returns the gradients, a Dict of the policy's trainable variables by path, and metrics.
    `apply` takes such gradients and a learning_rate and descends; its result is their norm. Both
    after each other equal `update`. Statistics of observations and rewards would be those of single
    workers, so there is no normalization.
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
    ) -> None:
        super().__init__(
            policy,
            action_space,
            optimizer,
            gamma,
            gae_lambda,
            ent_coef,
            vf_coef,
            max_grad_norm,
            normalize_advantage,
            ortho_init,
        )

    @api
    def gradients(self, batch: Any, last_values: Any, masks: Any = None) -> Any:
        """Gradients of the loss on the batch, and metrics."""
        found = self._prepared(batch, last_values, masks=masks)
        return self._gradients(*found, masks is not None)

    def _gradients(self, records: Any, explained: Any, has_masks: bool) -> Any:
        gradients, figures = self.learner.differentiate(records, has_masks)
        return gradients, self.metrics(figures, explained)

    @api
    def apply(self, gradients: Any, learning_rate: Any = None) -> Any:
        """Descends once; returns the norm of the gradients before clipping."""
        return self.optimizer.apply(self.policy.variables(), gradients, learning_rate)


class RecurrentA3C(A3C, RecurrentA2C):
    """A3C with a recurrent policy (`recurrent_actor_critic`); see RecurrentOnPolicy."""

    @api
    def gradients(  # type: ignore[override]
        self, batch: Any, last_values: Any, hidden: Any, masks: Any = None
    ) -> Any:
        """Gradients of the loss on the batch, and metrics."""
        found = self._prepared(
            batch, last_values, masks=masks, hidden=hidden, resets=batch["resets"]
        )
        return self._gradients(*found, masks is not None)
