"""Soft actor-critic as one graph, for continuous and for discrete actions."""

from __future__ import annotations

from typing import Any

from rlg.graph import Tensor, graph_fn
from rlg.graph.components.actions import discrete
from rlg.graph.components.algorithms.off_policy import OffPolicy
from rlg.graph.components.initializers import TORCH, recommend
from rlg.graph.components.losses.sac import DiscreteSACLoss, SACLoss
from rlg.graph.components.losses.temperature import Temperature
from rlg.graph.components.policies.critics import Critics, DiscreteCritics
from rlg.graph.components.policies.policy import Policy
from rlg.graph.components.policies.unit_actions import UnitActions
from rlg.graph.limits import Fraction, PositiveFraction, PositiveInt
from rlg.graph.registry import make
from rlg.graph.spaces import Box

ADAM = {"type": "adam", "learning_rate": 3e-4}


class SAC(OffPolicy):
    """Soft actor-critic with several critics and a learned temperature: Haarnoja et al. (2018b).

    act, records, update: see OffPolicy; ent_coef, target_entropy: see Temperature, in units of
    [-1, 1]. An update is one step of the critics, then one of the policy against the new critics,
    then one of the temperature, each by an `optimizer` of its own, and the critics' targets follow
    by `tau`. joined: see Critics.
    """

    loss: Any  # of one signature for drawn actions, and of another for all of them

    def __init__(
        self,
        network: Any,
        action_space: Any,
        memory: Any = "replay",
        optimizer: Any = None,
        gamma: Fraction = 0.99,
        tau: PositiveFraction = 0.005,
        n_step: PositiveInt = 1,
        n_critics: PositiveInt = 2,
        ent_coef: float | str = "auto",
        target_entropy: float | str = "auto",
        joined: bool = True,
    ) -> None:
        super().__init__(action_space, memory, gamma, tau, n_step)
        optimizer = ADAM if optimizer is None else optimizer
        self.network = network
        self.n_critics = n_critics
        self.ent_coef = ent_coef
        self.target_entropy = target_entropy
        self.joined = joined
        space = self._learned_space()
        self.policy = self._policy(space)
        self.critics = self._critics(space)
        recommend(TORCH, self.policy)
        recommend(TORCH, self.critics)
        self.target_critics = self.critics.copy(scope="target_critics")
        self.temperature = Temperature(space, ent_coef, target_entropy)
        self.loss = self._loss()
        self.optimizer = make(optimizer)  # the critics'
        self.policy_optimizer = make(optimizer)
        self.temperature_optimizer = make(optimizer) if self.learns_temperature else None

    def _learned_space(self) -> Box:
        return UnitActions(self.action_space).unit_space

    def _policy(self, space: Box) -> Policy:
        return Policy(self.network, space, {"type": "action_head", "state_dependent_std": True})

    def _critics(self, space: Box) -> Any:
        return Critics(self.network, self.n_critics, self.joined)

    def _loss(self) -> SACLoss:
        return SACLoss(self.gamma)

    @property
    def learns_temperature(self) -> bool:
        """Whether the weight of entropy is learned, and not a constant."""
        return isinstance(self.ent_coef, str)

    def _chosen(self, states: Any, explore: bool) -> Any:
        return self.policy.get_actions(states, explore)

    def _learned(self, records: Any, weights: Any, learning_rate: Any) -> tuple[Any, Any]:
        alpha = self.temperature.alpha()
        critic_loss, td_errors = self._critic_loss(records, alpha, weights)
        norm = self.optimizer.step(critic_loss, self.critics.variables(), learning_rate)
        actor_loss, log_probs = self._actor_loss(records["states"], alpha)
        self.policy_optimizer.step(actor_loss, self.policy.variables(), learning_rate)
        figures = {
            "critic_loss": critic_loss,
            "actor_loss": actor_loss,
            "gradient_norm": norm,
            "ent_coef": alpha,
        }
        if self.temperature_optimizer is not None:
            loss, _ = self.temperature.loss(log_probs)
            variables = self.temperature.variables()
            self.temperature_optimizer.step(loss, variables, learning_rate)
            figures["ent_coef_loss"] = loss
        self._follow()
        return figures, td_errors

    def _critic_loss(self, records: Any, alpha: Any, weights: Any) -> tuple[Any, Any]:
        """In API methods: the critics' loss, and TD errors."""
        rewards, terminals, discounts = self._columns(records)
        with self.no_gradient():
            states = records["next_states"]
            actions, log_probs = self.policy.get_actions_log_probs(states)
            q_next = self.target_critics.call(states, actions)
        q = self.critics.call(records["states"], records["actions"])
        loss, _, td_errors = self.loss.critic_loss(
            q, rewards, terminals, q_next, log_probs, alpha, weights, discounts
        )
        return loss, td_errors

    def _actor_loss(self, states: Any, alpha: Any) -> tuple[Any, Any]:
        """In API methods: the policy's loss, and log-probabilities of what it does now."""
        actions, log_probs = self.policy.get_actions_log_probs(states)
        q_pi = self.critics.call(states, actions)
        return self.loss.actor_loss(log_probs, q_pi, alpha)[0], log_probs

    def _follow(self) -> None:
        """In API methods: moves the targets."""
        source = self.critics.variables(trainable=None)
        self.target_sync.sync(source, self.target_critics.variables(trainable=None))


class DiscreteSAC(SAC):
    """Soft actor-critic over choices: Christodoulou (2019).

    Critics judge all actions at once, so expectations under the policy take the place of draws.
    """

    def _learned_space(self) -> Box:
        return discrete(type(self).__name__, self.action_space)

    def _policy(self, space: Box) -> Policy:
        return Policy(self.network, space)

    def _critics(self, space: Box) -> Any:
        return DiscreteCritics(self.network, space, self.n_critics)

    def _loss(self) -> SACLoss:
        return DiscreteSACLoss(self.gamma)

    def _critic_loss(self, records: Any, alpha: Any, weights: Any) -> tuple[Any, Any]:
        rewards, terminals, discounts = self._columns(records)
        with self.no_gradient():
            log_probs = self._log_probs(records["next_states"])
            q_next = self.target_critics.call(records["next_states"])
        q = self.critics.call(records["states"])
        actions = records["actions"]
        loss, _, td_errors = self.loss.critic_loss(
            q, actions, rewards, terminals, q_next, log_probs, alpha, weights, discounts
        )
        return loss, td_errors

    def _actor_loss(self, states: Any, alpha: Any) -> tuple[Any, Any]:
        log_probs = self._log_probs(states)
        with self.no_gradient():
            q_pi = self.critics.call(states)
        return self.loss.actor_loss(log_probs, q_pi, alpha)[0], log_probs

    def _log_probs(self, states: Any) -> Any:
        return self.all_log_probs(self.policy.parameters(states))

    @graph_fn
    def all_log_probs(self, logits: Tensor) -> Tensor:
        """Of every action, [B, A]."""
        return self.ops.log_softmax(logits, -1)
