"""What PPO and A2C share: advantages, normalization, and what a batch is."""

from __future__ import annotations

import math
from typing import Any

from rlg.graph import Static, Tensor, api, graph_fn
from rlg.graph.components.algorithms.actor_critic import ActorCriticRoot, RecurrentRoot
from rlg.graph.components.algorithms.descent import Descent
from rlg.graph.components.initializers import TORCH, orthogonal_recipe, recommend
from rlg.graph.components.losses.items import standardized
from rlg.graph.components.preprocessing.standardize import MovingStandardize
from rlg.graph.components.returns.gae import GAE
from rlg.graph.components.returns.scaling import ReturnScaling
from rlg.graph.spaces import map_leaves


class Learner(Descent):
    """Descends the loss of an actor-critic on records, as OnPolicy prepares them.

    Replicas share the records. `normalize_advantage` gives advantages mean 0 and standard deviation
    1 before they are shared out: the loss is then a mean over items, of parts as of the whole.
    """

    def __init__(
        self, policy: Any, loss: Any, optimizer: Any, normalize_advantage: bool = False
    ) -> None:
        super().__init__(policy, loss, optimizer)
        self.normalize_advantage = normalize_advantage
        self.is_recurrent = hasattr(policy, "hidden_space")

    @api
    def learn(
        self, records: Any, learning_rate: Any = None, has_masks: Static[bool] = False
    ) -> Any:
        """One step on these records; its figures."""
        gradients, loss, diagnostics = self._shared(records, has_masks)
        return self.report(loss, self._descend(gradients, learning_rate), diagnostics)

    @api
    def differentiate(self, records: Any, has_masks: Static[bool] = False) -> Any:
        """Gradients of the loss on these records, for a step elsewhere; figures of the loss."""
        gradients, loss, diagnostics = self._shared(records, has_masks)
        return gradients, self.loss_report(loss, diagnostics)

    def _shared(self, records: Any, has_masks: bool, clip_range: Any = None) -> Any:
        """In API methods: gradients of the loss, the loss and its diagnostics, by all replicas."""
        advantages = records["advantages"]
        if self.normalize_advantage:
            advantages = self.normalize(advantages)
        return self.replicate(self._differentiate, records, advantages, has_masks, clip_range)

    @api
    def _differentiate(
        self, records: Any, advantages: Any, has_masks: Static[bool], clip_range: Any = None
    ) -> Any:
        loss, diagnostics = self._loss(records, advantages, has_masks, clip_range)
        return self.gradients(loss, self.policy.variables()), loss, diagnostics

    @graph_fn(fold_time=True)
    def normalize(self, advantages: Tensor) -> Tensor:
        """Not by the loss, which is complete only when it knows what replicas hand it."""
        return standardized(self.ops, advantages)

    def _loss(
        self, records: Any, advantages: Any, has_masks: bool, clip_range: Any
    ) -> tuple[Any, Any]:
        """In API methods: the loss and its diagnostics, means over items; advantages as given."""
        loss, _, diagnostics = self.loss.loss(
            *self._evaluated(records, has_masks), advantages, records["returns"]
        )
        return loss, diagnostics

    def _evaluated(self, records: Any, has_masks: bool) -> tuple[Any, Any, Any]:
        """Log-probabilities, entropies and values; an entropy that nobody weighs is left out."""
        inputs = [records["states"], records["actions"]]
        if self.is_recurrent:
            inputs += [records["hidden"], records["resets"]]
        wanted = self.loss.ent_coef > 0.0
        masks = records["masks"] if has_masks else None
        log_probs, *entropies, values = self.policy.evaluate(*inputs, masks, wanted)
        return log_probs, entropies[0] if wanted else None, values

    @graph_fn
    def loss_report(self, loss: Tensor, diagnostics: Tensor) -> Tensor:
        """Figures of a loss alone."""
        return {**diagnostics, "loss": loss}


class OnPolicy(ActorCriticRoot):
    """An actor-critic that learns from what its own policy did, once: the root of PPO and A2C.

    act, value: see ActorCriticRoot.

    `update` takes a `batch`, a Dict with time first, [T, B, ...]: states, actions, log_probs and
    values (as `act` saw and gave them), rewards, terminals and truncations (bool), and
    bootstrap_values: where a step was truncated, the value of the observation that it led to
    (elsewhere they are not read); last_values [B]: those of the states after the last step; masks
    [T, B, ...], where actions had them. It returns a Dict of metrics, signed, one number each.

    With `normalize_observations` states are standardized by the moments of all batches before:
    acting and learning see the same numbers, so that ratios of probabilities are exact, and
    evaluation changes nothing. With `normalize_rewards` rewards are scaled by running returns of
    `num_envs` environments; see ReturnScaling. `ortho_init` starts as the authors' code does.
    """

    def __init__(
        self,
        policy: Any,
        action_space: Any,
        optimizer: Any,
        gamma: float,
        gae_lambda: float,
        max_grad_norm: float | None,
        ortho_init: bool,
        normalize_observations: bool,
        normalize_rewards: bool,
        num_envs: int,
    ) -> None:
        super().__init__(policy, action_space, optimizer, max_grad_norm)
        recommend(orthogonal_recipe(math.sqrt(2.0)) if ortho_init else TORCH, self.policy)
        if ortho_init:
            recommend(orthogonal_recipe(0.01), self.policy.head)
            recommend(orthogonal_recipe(1.0), self.policy.value_head)
        self.gamma = gamma
        self.gae_lambda = gae_lambda
        self.ortho_init = ortho_init
        self.normalize_observations = normalize_observations
        self.normalize_rewards = normalize_rewards
        self.num_envs = num_envs
        self.advantages = GAE(gamma, gae_lambda)
        self.observations = MovingStandardize() if normalize_observations else None
        self.rewards = ReturnScaling(gamma, num_envs) if normalize_rewards else None

    def _seen(self, states: Any) -> Any:
        return states if self.observations is None else self.observations.call(states, False)

    def _prepared(
        self, batch: Any, last_values: Any, rewards: Any = None, **more: Any
    ) -> tuple[Any, Any]:
        """Records to learn from, and how much of the returns the values explained.

        rewards: others than those of the batch.
        """
        ends = batch["terminals"], batch["truncations"]
        rewards = batch["rewards"] if rewards is None else rewards
        if self.rewards is not None:
            rewards = self.rewards.call(rewards, *ends)
        advantages, returns = self.advantages.call(
            rewards, batch["values"], last_values, *ends, batch["bootstrap_values"]
        )
        kept = {name: batch[name] for name in ("actions", "log_probs", "values")}
        records = {
            "states": self._seen(batch["states"]),
            **kept,
            "advantages": advantages,
            "returns": returns,
            **more,
        }
        present = {name: record for name, record in records.items() if record is not None}
        return self.fold(present), self.explained_variance(batch["values"], returns)

    def _count(self, batch: Any) -> None:
        """After learning: the next batch is acted with these statistics."""
        if self.observations is not None:
            self.observations.count(batch["states"])

    @graph_fn
    def fold(self, records: Tensor) -> Tensor:
        """Steps as records of their own."""
        return map_leaves(self.ops.fold_time, records)

    @graph_fn(fold_time=True)
    def explained_variance(self, values: Tensor, returns: Tensor) -> Tensor:
        """1 - Var(R - V) / Var(R); 0 where returns are all equal."""
        ops = self.ops

        def variance(x: Tensor) -> Tensor:
            return ops.mean(ops.square(x - ops.mean(x)))

        whole = variance(returns)
        share = 1.0 - variance(returns - values) / ops.where(whole > 0.0, whole, 1.0)
        return ops.where(whole > 0.0, share, 0.0 * share)

    @graph_fn
    def metrics(self, figures: Tensor, explained_variance: Tensor) -> Tensor:
        """All figures of an update."""
        return {**figures, "explained_variance": explained_variance}


class RecurrentOnPolicy(RecurrentRoot, OnPolicy):
    """The same with a recurrent policy: sequences of one environment are learned from as a whole.

    act, value: see RecurrentRoot. `update` takes `resets` in its batch, and hidden [B] as it was
    before the first step.
    """

    @graph_fn
    def fold(self, records: Tensor) -> Tensor:
        """Sequences as records: batch first; what the policy remembered has no time."""
        ops = self.ops

        def batch_first(x: Tensor) -> Tensor:
            return ops.transpose(x, (1, 0, *range(2, len(ops.shape_of(x)))))

        swapped = {
            name: map_leaves(batch_first, x) for name, x in records.items() if name != "hidden"
        }
        return {**swapped, "hidden": records["hidden"]}
