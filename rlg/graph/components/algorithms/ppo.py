"""Proximal policy optimization as one graph."""

from __future__ import annotations

from typing import Any

from rlg.graph import Static, Tensor, api, graph_fn
from rlg.graph.components.algorithms.on_policy import Learner, OnPolicy, RecurrentOnPolicy
from rlg.graph.components.common.minibatches import Minibatches
from rlg.graph.components.losses.ppo import PPOLoss
from rlg.graph.registry import make

# Of a minibatch, where a target for the divergence may end learning.
FIGURES = (
    "approx_kl",
    "clip_fraction",
    "entropy",
    "evaluated",
    "gradient_norm",
    "loss",
    "n_updates",
    "policy_loss",
    "value_loss",
)
ADAM = {"type": "adam", "learning_rate": 3e-4, "epsilon": 1e-5}


class Epochs(Learner):
    """Several epochs over shuffled minibatches, in one plan."""

    def __init__(
        self,
        policy: Any,
        loss: Any,
        optimizer: Any,
        n_epochs: int,
        batch_size: int,
        target_kl: float | None,
        normalize_advantage: bool,
    ) -> None:
        super().__init__(policy, loss, optimizer, normalize_advantage)
        self.minibatches = Minibatches(n_epochs, batch_size)
        self.target_kl = target_kl

    @api
    def update(
        self,
        records: Any,
        learning_rate: Any = None,
        clip_range: Any = None,
        has_masks: Static[bool] = False,
    ) -> Any:
        """Figures of all minibatches."""
        settings = {"learning_rate": learning_rate, "clip_range": clip_range}
        carry = {name: number for name, number in settings.items() if number is not None}
        carry["masked" if has_masks else "records"] = records
        if self.target_kl is not None:
            carry["stopped"] = self.at_first()
        _, figures = self.scan(self.step, carry, self.minibatches.rows(records))
        return self.average(figures) if self.target_kl is None else self.average_of(figures)

    @api
    def step(self, carry: Any, rows: Any) -> Any:
        """One minibatch."""
        name, n = "records" if "records" in carry else "masked", self.minibatches.batch_size
        inputs = {key: carry[key] for key in ("learning_rate", "clip_range") if key in carry}
        inputs[name] = self.minibatches.take(carry[name], rows, n)
        if self.target_kl is None:
            gradients, loss, diagnostics = self._shared_minibatch(inputs)
            norm = self._descend(gradients, inputs.get("learning_rate"))
            return carry, self.report(loss, norm, diagnostics)
        stopped, figures = self.cond(carry["stopped"], self.skip, self.learn_within, inputs)
        return {**carry, "stopped": stopped}, figures

    def _shared_minibatch(self, inputs: Any) -> Any:
        has_masks = "masked" in inputs
        records = inputs["masked" if has_masks else "records"]
        return self._shared(records, has_masks, inputs.get("clip_range"))

    def _loss(
        self, records: Any, advantages: Any, has_masks: bool, clip_range: Any
    ) -> tuple[Any, Any]:
        log_probs, entropies, values = self._evaluated(records, has_masks)
        loss, _, diagnostics = self.loss.loss(
            log_probs,
            entropies,
            values,
            records["log_probs"],
            records["values"],
            advantages,
            records["returns"],
            clip_range=clip_range,
        )
        return loss, diagnostics

    @api
    def learn_within(self, inputs: Any) -> Any:
        """A step, unless the divergence is too large: then this was the last minibatch."""
        gradients, loss, diagnostics = self._shared_minibatch(inputs)
        # With the divergence: processes that learn together stop together.
        means = self.optimizer.averaged(
            {"approx_kl": diagnostics["approx_kl"], "gradients": gradients}
        )
        gradients, stopped = means["gradients"], self.is_beyond(means["approx_kl"])
        rate = [inputs["learning_rate"]] if "learning_rate" in inputs else []
        norm = self.cond(stopped, self.leave, self.descend, gradients, *rate)
        return stopped, self.report_of(self.report(loss, norm, diagnostics), stopped)

    @api
    def descend(self, gradients: Any, learning_rate: Any = None) -> Any:
        """Applies gradients; their norm."""
        return self.optimizer.apply(self.policy.variables(), gradients, learning_rate)

    @api
    def leave(self, gradients: Any, learning_rate: Any = None) -> Any:
        """Applies nothing; the norm all the same."""
        return self.optimizer.norm(gradients)

    @api
    def skip(self, inputs: Any) -> Any:
        """A minibatch that nothing is learned from any more."""
        return self.nothing()

    @graph_fn
    def at_first(self) -> Tensor:
        return self.ops.constant(False, "bool")

    @graph_fn
    def is_beyond(self, approx_kl: Tensor) -> Tensor:
        assert self.target_kl is not None
        return approx_kl > 1.5 * self.target_kl

    @graph_fn
    def nothing(self) -> tuple[Tensor, Tensor]:
        zeros = {name: self.ops.constant(0.0, "float32") for name in FIGURES}
        return self.ops.constant(True, "bool"), zeros

    @graph_fn
    def report_of(self, figures: Tensor, stopped: Tensor) -> Tensor:
        one = self.ops.ones_like(figures["loss"])
        taken = self.ops.where(stopped, 0.0 * one, one)
        return {**figures, "n_updates": taken, "evaluated": one}

    @graph_fn
    def average_of(self, figures: Tensor) -> Tensor:
        """Means over the minibatches that were looked at, and how many steps were taken."""
        ops = self.ops
        sums = {name: ops.sum(x, 0) for name, x in figures.items()}
        count, steps = sums.pop("evaluated"), sums.pop("n_updates")
        return {**{name: x / count for name, x in sums.items()}, "n_updates": steps}


class PPO(OnPolicy):
    """Proximal policy optimization: Schulman et al. (2017). Advantages, epochs and minibatches are
    one plan.

    act, value, update, normalization: see OnPolicy. Names and defaults are Stable-Baselines3's;
    `batch_size` is that of minibatches, in steps. learning_rate, clip_range: one number each, from
    schedules. Once the divergence of a minibatch goes beyond 1.5 * `target_kl`, nothing more is
    learned from the batch. metrics: means over minibatches of loss, policy_loss, value_loss,
    entropy, approx_kl, clip_fraction and gradient_norm; n_updates (steps taken) with a `target_kl`;
    explained_variance.

    With `curiosity`, a component of that type, what it earns is added to rewards; batches have
    next_states then, the component learns `n_epochs` times from each of them, and metrics have
    curiosity_reward (a mean) and curiosity_loss.
    """

    def __init__(
        self,
        policy: Any,
        action_space: Any,
        optimizer: Any = None,
        n_steps: int = 2048,
        n_epochs: int = 10,
        batch_size: int = 64,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
        clip_range: float = 0.2,
        clip_range_vf: float | None = None,
        ent_coef: float = 0.0,
        vf_coef: float = 0.5,
        max_grad_norm: float | None = 0.5,
        normalize_advantage: bool = True,
        target_kl: float | None = None,
        ortho_init: bool = True,
        normalize_observations: bool = False,
        normalize_rewards: bool = False,
        num_envs: int = 1,
        curiosity: Any = None,
    ) -> None:
        super().__init__(
            policy,
            action_space,
            ADAM if optimizer is None else optimizer,
            gamma,
            gae_lambda,
            max_grad_norm,
            ortho_init,
            normalize_observations,
            normalize_rewards,
            num_envs,
        )
        self.n_steps = n_steps
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.clip_range = clip_range
        self.clip_range_vf = clip_range_vf
        self.ent_coef = ent_coef
        self.vf_coef = vf_coef
        self.normalize_advantage = normalize_advantage
        self.target_kl = target_kl
        self.curiosity = None
        if curiosity is not None:
            self.curiosity = make(curiosity, action_space=self.action_space)
        loss = PPOLoss(clip_range, clip_range_vf, vf_coef, ent_coef, normalize_advantage=False)
        # A recurrent policy's records are sequences of n_steps.
        size = max(1, batch_size // n_steps) if self.is_recurrent else batch_size
        parts = self.policy, loss, self.optimizer
        self.learner = Epochs(*parts, n_epochs, size, target_kl, normalize_advantage)

    @api
    def update(
        self,
        batch: Any,
        last_values: Any,
        masks: Any = None,
        learning_rate: Any = None,
        clip_range: Any = None,
    ) -> Any:
        """Learns from all minibatches of all epochs; returns metrics."""
        if self.curiosity is None:
            records, explained = self._prepared(batch, last_values, masks=masks)
            return self._update(batch, records, explained, masks, learning_rate, clip_range)
        seen = self._seen(batch["states"]), batch["actions"], self._seen(batch["next_states"])
        bonus, loss = self.curiosity.update(*seen)
        for _ in range(self.n_epochs - 1):
            self.curiosity.update(*seen)
        rewards = self.with_bonus(batch["rewards"], bonus)
        records, explained = self._prepared(batch, last_values, rewards, masks=masks)
        found = self._update(batch, records, explained, masks, learning_rate, clip_range)
        return self.with_curiosity(found, bonus, loss)

    @graph_fn
    def with_bonus(self, rewards: Tensor, bonus: Tensor) -> Tensor:
        return rewards + bonus

    @graph_fn
    def with_curiosity(self, metrics: Tensor, bonus: Tensor, loss: Tensor) -> Tensor:
        mean = self.ops.mean(self.ops.mean(bonus, 0), 0)
        return {**metrics, "curiosity_reward": mean, "curiosity_loss": loss}

    def _update(
        self,
        batch: Any,
        records: Any,
        explained: Any,
        masks: Any,
        learning_rate: Any,
        clip_range: Any,
    ) -> Any:
        figures = self.learner.update(records, learning_rate, clip_range, masks is not None)
        self._count(batch)
        return self.metrics(figures, explained)


class RecurrentPPO(RecurrentOnPolicy, PPO):
    """PPO with a recurrent policy (`recurrent_actor_critic`): environments are shuffled, not steps.

    A minibatch has batch_size // n_steps of them, 1 at least. See RecurrentOnPolicy.
    """

    @api
    def update(  # type: ignore[override]
        self,
        batch: Any,
        last_values: Any,
        hidden: Any,
        masks: Any = None,
        learning_rate: Any = None,
        clip_range: Any = None,
    ) -> Any:
        """Learns from all minibatches of all epochs; returns metrics."""
        records, explained = self._prepared(
            batch, last_values, masks=masks, hidden=hidden, resets=batch["resets"]
        )
        return self._update(batch, records, explained, masks, learning_rate, clip_range)
