"""TD3 and DDPG as one graph: actor-critics with deterministic policies."""

from __future__ import annotations

from typing import Any

from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.algorithms.off_policy import OffPolicy
from rlg.graph.components.explorations.noise import ClippedNoise
from rlg.graph.components.initializers import TORCH, recommend
from rlg.graph.components.losses.td3 import TD3Loss
from rlg.graph.components.policies.critics import Critics
from rlg.graph.components.policies.deterministic import DeterministicPolicy
from rlg.graph.components.policies.unit_actions import UnitActions
from rlg.graph.limits import Fraction, NonNegativeFloat, PositiveFraction, PositiveInt
from rlg.graph.registry import make

ADAM = {"type": "adam", "learning_rate": 1e-3}


class TD3(OffPolicy):
    """Twin critics, smoothed targets and a delayed policy: Fujimoto et al. (2018).

    act, records, update: see OffPolicy; joined: see Critics. With one critic, `target_policy_noise`
    0 and `policy_delay` 1 it is DDPG: Lillicrap et al. (2016). Targets judge actions with normal
    noise of deviation `target_policy_noise`, at most `target_noise_clip` large. Every
    `policy_delay` updates of the critics the policy learns from the first one, and targets follow
    by `tau`. exploration: noise on the actions, in units of [-1, 1]. Variables: `updates`, and
    `actor_loss`, the last one.
    """

    def __init__(
        self,
        network: Any,
        action_space: Any,
        memory: Any = "replay",
        optimizer: Any = None,
        exploration: Any = "gaussian_noise",
        gamma: Fraction = 0.99,
        tau: PositiveFraction = 0.005,
        n_step: PositiveInt = 1,
        n_critics: PositiveInt = 2,
        policy_delay: PositiveInt = 2,
        target_policy_noise: NonNegativeFloat = 0.2,
        target_noise_clip: NonNegativeFloat = 0.5,
        joined: bool = True,
    ) -> None:
        super().__init__(action_space, memory, gamma, tau, n_step)
        optimizer = ADAM if optimizer is None else optimizer
        self.network = network
        self.n_critics = n_critics
        self.policy_delay = policy_delay
        self.target_policy_noise = target_policy_noise
        self.target_noise_clip = target_noise_clip
        self.joined = joined
        space = UnitActions(self.action_space).unit_space
        self.exploration = make(exploration, action_space=space)
        noise = target_policy_noise, target_noise_clip
        self.smoothing = ClippedNoise(space, *noise) if target_policy_noise else None
        self.policy = DeterministicPolicy(network, space.shape)
        self.critics = Critics(network, n_critics, joined)
        recommend(TORCH, self.policy)
        recommend(TORCH, self.critics)
        self.target_policy = self.policy.copy(scope="target_policy")
        self.target_critics = self.critics.copy(scope="target_critics")
        self.policy_sync = self.target_sync.copy(scope="policy_sync")
        self.loss = TD3Loss(gamma)
        self.optimizer = make(optimizer)  # the critics'
        self.policy_optimizer = make(optimizer)

    def create_variables(self) -> None:
        # Of learning, as the step of an Adam is.
        self._updates = self.variable("updates", dtype="int64", kind="slot")
        self._actor_loss = self.variable("actor_loss", kind="slot")

    def _chosen(self, states: Any, explore: bool) -> Any:
        actions = self.policy.call(states, explore)
        return self.exploration.explore(actions) if explore else actions

    def _learned(self, records: Any, weights: Any, learning_rate: Any) -> tuple[Any, Any]:
        rewards, terminals, discounts = self._columns(records)
        with self.no_gradient():
            states = records["next_states"]
            actions = self.target_policy.call(states)
            if self.smoothing is not None:
                actions = self.smoothing.explore(actions)
            q_next = self.target_critics.call(states, actions)
        q = self.critics.call(records["states"], records["actions"])
        critic_loss, _, td_errors = self.loss.critic_loss(
            q, rewards, terminals, q_next, weights, discounts
        )
        norm = self.optimizer.step(critic_loss, self.critics.variables(), learning_rate)
        inputs = (
            (records["states"],) if learning_rate is None else (records["states"], learning_rate)
        )
        if self.policy_delay == 1:
            actor_loss = self._improve(*inputs)
        else:
            actor_loss = self.cond(self.is_due(), self._improve, self._wait, *inputs)
        figures = {"critic_loss": critic_loss, "actor_loss": actor_loss, "gradient_norm": norm}
        return figures, td_errors

    @api
    def _improve(self, states: Any, learning_rate: Any = None) -> Any:
        """A step of the policy, and of all targets; the policy's loss."""
        loss, _ = self.loss.actor_loss(self.critics.first(states, self.policy.call(states)))
        self.policy_optimizer.step(loss, self.policy.variables(), learning_rate)
        for sync, source, target in (
            (self.target_sync, self.critics, self.target_critics),
            (self.policy_sync, self.policy, self.target_policy),
        ):
            sync.sync(source.variables(trainable=None), target.variables(trainable=None))
        return self.remember(loss)

    @api
    def _wait(self, states: Any, learning_rate: Any = None) -> Any:
        """Not now; the policy's last loss."""
        return self.last_loss()

    @graph_fn
    def is_due(self) -> Tensor:
        """Counts this update; whether the policy's turn has come."""
        ops = self.ops
        ops.assign(self._updates, self._updates + 1)
        return ops.equal(self._updates % self.policy_delay, 0)

    @graph_fn
    def remember(self, loss: Tensor) -> Tensor:
        self.ops.assign(self._actor_loss, self.ops.stop_gradient(loss))
        return loss + 0.0

    @graph_fn
    def last_loss(self) -> Tensor:
        return self.ops.value_of(self._actor_loss)
