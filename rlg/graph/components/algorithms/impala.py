"""IMPALA as one graph: actors roll out by older weights, the learner corrects for that."""

from __future__ import annotations

from typing import Any

from rlg.graph import Static, Tensor, api, graph_fn
from rlg.graph.components.algorithms.actor_critic import ActorCriticRoot, RecurrentRoot
from rlg.graph.components.initializers import SONNET, recommend
from rlg.graph.components.layers.vectors import categories, vector
from rlg.graph.components.losses.impala import IMPALALoss
from rlg.graph.limits import PositiveInt
from rlg.graph.spaces import Box, Dict, FloatBox, Space, flatten

# The paper's loss is a sum over 32 sequences, this one their mean: its epsilon of 0.1 and its norm
# of 40 are those of gradients that are 32 times larger.
RMSPROP = {
    "type": "rmsprop",
    "learning_rate": 6e-4,
    "alpha": 0.99,
    "epsilon": 1e-4,
    "epsilon_inside_root": True,
}


class IMPALA(ActorCriticRoot):
    """Importance weighted actor-learner architecture: Espeholt et al. (2018).

    `act` takes states [B] and returns actions as they are learned from and their log_probs [B],
    and, if `clips`, the environment's actions; `value` returns values [B] of states.

    `update` takes a `batch` of rollouts, a Dict with time first, [T, B, ...]: states, actions,
    log_probs (of the policy that acted), rewards, terminals and truncations (bool), and
    bootstrap_values: where a step was truncated, the value of the observation that it led to
    (elsewhere they are not read); last_states [B]: those after the last step; masks [T, B, ...],
    where actions had them. The policy sees all T + 1 rows at once, and V-trace bootstraps from the
    last one. It returns a Dict of metrics, signed, one number each: loss, policy_loss, value_loss,
    entropy, gradient_norm, approx_kl and importance_weight (see IMPALALoss).

    The loss is a sum over time and a mean over sequences. Coefficients and the clipping of rewards
    and of the gradient's norm are the paper's for Atari games. With a `clip_range` the policy's
    loss is PPO's clipped surrogate: "APPO". `n_epochs` steps are made on the same rollouts, with
    targets and importance weights anew each time; metrics are those of the last one.
    `normalize_advantage` is of all steps that are learned from together, so there are no replicas.
    """

    def __init__(
        self,
        policy: Any,
        action_space: Any,
        optimizer: Any = None,
        gamma: float = 0.99,
        ent_coef: float = 0.01,
        vf_coef: float = 0.5,
        max_grad_norm: float | None = 1.25,
        reward_clip: float | None = 1.0,
        rho_bar: float = 1.0,
        c_bar: float = 1.0,
        pg_rho_bar: float = 1.0,
        clip_range: float | None = None,
        n_epochs: PositiveInt = 1,
        normalize_advantage: bool = False,
    ) -> None:
        optimizer = RMSPROP if optimizer is None else optimizer
        super().__init__(policy, action_space, optimizer, max_grad_norm)
        recommend(SONNET, self.policy)
        self.gamma = gamma
        self.ent_coef = ent_coef
        self.vf_coef = vf_coef
        self.reward_clip = reward_clip
        self.rho_bar = rho_bar
        self.c_bar = c_bar
        self.pg_rho_bar = pg_rho_bar
        self.clip_range = clip_range
        self.n_epochs = n_epochs
        self.normalize_advantage = normalize_advantage
        bounds = rho_bar, c_bar, pg_rho_bar, clip_range
        self.loss = IMPALALoss(gamma, vf_coef, ent_coef, reward_clip, *bounds, normalize_advantage)

    @api
    def act(self, states: Any, explore: Static[bool] = True, masks: Any = None) -> Any:
        """Actions and log-probabilities, and the environment's actions if they differ."""
        actions, log_probs, _ = self.policy.act(states, explore, masks)
        return (actions, log_probs, *self._clipped(actions))

    @api
    def update(
        self, batch: Any, last_states: Any, masks: Any = None, learning_rate: Any = None
    ) -> Any:
        """Learns from the rollouts; returns metrics."""
        states = self.append(batch["states"], last_states)
        return self._learn(batch, (states,), (), masks, learning_rate)

    def _learn(
        self,
        batch: Any,
        states: tuple[Any, ...],
        memory: tuple[Any, ...],
        masks: Any,
        learning_rate: Any,
    ) -> Any:
        """Steps on T + 1 rows of states; `memory` is what a recurrent policy takes too."""
        # What was done in the last row is not known, and not read: a copy of the row before.
        actions = self.extend(batch["actions"])
        masks = None if masks is None else self.extend(masks)
        for _ in range(self.n_epochs):
            gradients, loss, figures = self.replicate(
                self._differentiate, batch, states, actions, memory, masks
            )
            norm = self.optimizer.apply(
                self.policy.variables(), self.optimizer.averaged(gradients), learning_rate
            )
        return self.report(loss, norm, figures)

    @api
    def _differentiate(
        self, batch: Any, states: Any, actions: Any, memory: Any, masks: Any = None
    ) -> Any:
        """The gradients of the loss, the loss and its figures; replicas share the rollouts."""
        found = self.policy.evaluate(*states, actions, *memory, masks)
        log_probs, entropies, values, bootstrap = self.parted(*found)
        loss, _, figures = self.loss.loss(
            log_probs,
            batch["log_probs"],
            entropies,
            values,
            bootstrap,
            *(batch[name] for name in ("rewards", "terminals", "truncations", "bootstrap_values")),
        )
        return self.optimizer.gradients(loss, self.policy.variables()), loss, figures

    @graph_fn(split=True)
    def append(self, rows: Tensor, last: Tensor) -> Tensor:
        """[T + 1, B, ...]: a row behind the others."""
        return self.ops.concat([rows, self.ops.expand_dims(last, 0)], 0)

    @graph_fn(split=True)
    def extend(self, rows: Tensor) -> Tensor:
        """[T + 1, B, ...]: the last row twice."""
        return self.ops.concat([rows, rows[-1:]], 0)

    @graph_fn
    def parted(
        self, log_probs: Tensor, entropies: Tensor, values: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The rows of steps, [T, B], and the value behind the last one, [B]."""
        return log_probs[:-1], entropies[:-1], values[:-1], values[-1]

    @graph_fn
    def report(self, loss: Tensor, gradient_norm: Tensor, figures: Tensor) -> Tensor:
        """All figures of an update."""
        return {**figures, "loss": loss, "gradient_norm": gradient_norm}


class RecurrentIMPALA(RecurrentRoot, IMPALA):
    """IMPALA with a recurrent policy (`recurrent_actor_critic`).

    `act` and `value` take states, hidden (of `hidden_space`) and resets (bool, where episodes
    begin), all [B]; `act` returns the next hidden last. `update` takes `resets` in its batch, and
    hidden [B] as it was before the first step.

    With `previous_inputs` the policy's network takes a Dict of `states` and `previous`: the action
    before as a vector (choices one-hot) and the reward that it got, clipped as for learning; zeros
    where an episode begins. Hidden is then a Dict of `policy`, `actions` and `rewards`; who steps
    the environments writes the rewards of a step into it.
    """

    def __init__(self, *args: Any, previous_inputs: bool = True, **options: Any) -> None:
        super().__init__(*args, **options)
        self.previous_inputs = previous_inputs

    @property
    def hidden_space(self) -> Space:
        """What `hidden` is; it starts from zeros."""
        hidden: Space = self.policy.hidden_space
        if not self.previous_inputs:
            return hidden
        drawn = self.action_space.map(lambda x: Box(x.shape) if x.kind == "float" else x)
        return Dict(policy=hidden, actions=drawn, rewards=FloatBox())

    @api
    def act(  # type: ignore[override]
        self,
        states: Any,
        hidden: Any,
        resets: Any,
        explore: Static[bool] = True,
        masks: Any = None,
    ) -> Any:
        """Actions, log-probabilities (the environment's actions) and what to remember."""
        states, before = self._with_previous(states, hidden, resets)
        actions, log_probs, _, after = self.policy.act(states, before, resets, explore, masks)
        if self.previous_inputs:
            after = {"policy": after, "actions": actions, "rewards": self.nothing(log_probs)}
        return (actions, log_probs, *self._clipped(actions), after)

    @api
    def value(self, states: Any, hidden: Any, resets: Any) -> Any:  # type: ignore[override]
        states, before = self._with_previous(states, hidden, resets)
        return self.policy.values(states, before, resets)

    @api
    def update(  # type: ignore[override]
        self,
        batch: Any,
        last_states: Any,
        hidden: Any,
        masks: Any = None,
        learning_rate: Any = None,
    ) -> Any:
        """Learns from the rollouts; returns metrics."""
        resets = self.resets(batch["resets"], batch["terminals"], batch["truncations"])
        states = self.append(batch["states"], last_states)
        if self.previous_inputs:
            actions = self.prepend(hidden["actions"], batch["actions"])
            rewards = self.prepend(hidden["rewards"], batch["rewards"])
            states = {"states": states, "previous": self.previous(actions, rewards, resets)}
            hidden = hidden["policy"]
        return self._learn(batch, (states,), (hidden, resets), masks, learning_rate)

    def _with_previous(self, states: Any, hidden: Any, resets: Any) -> tuple[Any, Any]:
        """What the network sees, and what it remembers."""
        if not self.previous_inputs:
            return states, hidden
        previous = self.previous(hidden["actions"], hidden["rewards"], resets)
        return {"states": states, "previous": previous}, hidden["policy"]

    @graph_fn
    def previous(self, actions: Tensor, rewards: Tensor, resets: Tensor) -> Tensor:
        """Action and reward of the step before as one vector [..., F], zeros at first steps."""
        ops, boxes, clip = self.ops, self.action_space.flatten(), self.reward_clip
        parts = [
            vector(ops, x, len(boxes[path].shape), categories(boxes[path]))
            for path, x in flatten(actions).items()
        ]
        seen = rewards if clip is None else ops.clip(rewards, -clip, clip)
        found = ops.concat([*parts, ops.expand_dims(seen, -1)], -1)
        return ops.where(ops.expand_dims(resets, -1), 0.0, found)

    @graph_fn
    def resets(self, resets: Tensor, terminals: Tensor, truncations: Tensor) -> Tensor:
        """[T + 1, B]: an episode begins behind the last step, if one ended with it."""
        ends = self.ops.logical_or(terminals[-1:], truncations[-1:])
        return self.ops.concat([resets, ends], 0)

    @graph_fn(split=True)
    def prepend(self, first: Tensor, rows: Tensor) -> Tensor:
        """[T + 1, B, ...]: a row before the others."""
        return self.ops.concat([self.ops.expand_dims(first, 0), rows], 0)

    @graph_fn
    def nothing(self, like: Tensor) -> Tensor:
        """Rewards that are not known yet."""
        return self.ops.zeros_like(like)
