"""PPO and A2C: actor-critics that learn from segments of their own policy."""

from __future__ import annotations

from typing import Any, ClassVar

from rlg.api.agents.bootstrapping import BootstrappingAgent
from rlg.execution.types import Clock
from rlg.graph import Component
from rlg.graph.components.algorithms.a2c import A2C, RecurrentA2C
from rlg.graph.components.algorithms.ppo import PPO, RecurrentPPO
from rlg.graph.components.schedules import make_schedule
from rlg.graph.limits import FiniteFloat, Fraction, NonNegativeFloat
from rlg.graph.spaces import Space


class ActorCriticAgent(BootstrappingAgent):
    """What PPO and A2C share: a policy with values on the network of the configuration."""

    takes_masks = True
    acted_numbers: ClassVar[tuple[str, ...]] = ("log_probs", "values")

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        *,
        network: Any,
        optimizer: Any,
        total_timesteps: int,
        n_steps: int,
        separate: bool,
        bounded: str,
        log_std_init: float,
    ) -> None:
        super().__init__(
            observation_space,
            action_space,
            network=network,
            optimizer=optimizer,
            total_timesteps=total_timesteps,
            n_steps=n_steps,
        )
        self.separate = separate
        self.bounded = bounded
        self.log_std_init = log_std_init
        self._root = self.make_root()
        self._clips = self._root.clips

    def policy_spec(self) -> dict[str, Any]:
        """The policy on the network of the configuration."""
        kind = "recurrent_actor_critic" if self.is_recurrent else "actor_critic"
        head = {"bounded": self.bounded, "log_std_init": self.log_std_init}
        return {
            "type": kind,
            "network": self.network,
            "separate": self.separate,
            "head": {"type": "action_head", **head},
        }


class PPOAgent(ActorCriticAgent):
    """Proximal policy optimization (Schulman et al., 2017).

    Keys have Stable-Baselines3's names and meanings; `clip_range` and the optimizer's
    `learning_rate` may be schedules. `separate` gives the value function a network of its own.
    """

    name: ClassVar[str] = "ppo"

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        *,
        network: Any,
        optimizer: Any = "adam",
        total_timesteps: int = 100_000,
        n_steps: int = 2048,
        batch_size: int = 64,
        n_epochs: int = 10,
        gamma: Fraction = 0.99,
        gae_lambda: Fraction = 0.95,
        clip_range: Any = 0.2,
        clip_range_vf: float | None = None,
        normalize_advantage: bool = True,
        ent_coef: NonNegativeFloat = 0.0,
        vf_coef: NonNegativeFloat = 0.5,
        target_kl: float | None = None,
        separate: bool = True,
        bounded: str = "squashed_normal",
        log_std_init: FiniteFloat = 0.0,
        normalize_observations: bool = False,
        normalize_rewards: bool = False,
        num_envs: int = 1,
        curiosity: NonNegativeFloat = 0.0,
    ) -> None:
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.gamma = gamma
        self.gae_lambda = gae_lambda
        self.clip_range = clip_range
        self.clip_range_vf = clip_range_vf
        self.normalize_advantage = normalize_advantage
        self.ent_coef = ent_coef
        self.vf_coef = vf_coef
        self.target_kl = target_kl
        self.normalize_observations = normalize_observations
        self.normalize_rewards = normalize_rewards
        self.num_envs = num_envs
        self.curiosity = curiosity
        is_number = isinstance(clip_range, (int, float))
        self._clip_ranges = None if is_number else make_schedule(clip_range)
        super().__init__(
            observation_space,
            action_space,
            network=network,
            optimizer=optimizer,
            total_timesteps=total_timesteps,
            n_steps=n_steps,
            separate=separate,
            bounded=bounded,
            log_std_init=log_std_init,
        )

    def make_root(self) -> Component:
        root: Component = (RecurrentPPO if self.is_recurrent else PPO)(
            self.policy_spec(),
            self.action_space,
            self.optimizer,
            n_steps=self.n_steps,
            n_epochs=self.n_epochs,
            batch_size=self.batch_size,
            gamma=self.gamma,
            gae_lambda=self.gae_lambda,
            clip_range=self.clip_range if self._clip_ranges is None else self._clip_ranges.at(0.0),
            clip_range_vf=self.clip_range_vf,
            ent_coef=self.ent_coef,
            vf_coef=self.vf_coef,
            normalize_advantage=self.normalize_advantage,
            target_kl=self.target_kl,
            normalize_observations=self.normalize_observations,
            normalize_rewards=self.normalize_rewards,
            num_envs=self.num_envs,
            curiosity=self._curiosity_spec(),
        ).configure(scope="agent")
        return root

    def _curiosity_spec(self) -> dict[str, Any] | None:
        if not self.curiosity:
            return None
        if self.is_recurrent:
            raise self._refusal(
                "curiosity takes no recurrent network. Set agent.curiosity=0, or use "
                "another network."
            )
        return {"type": "curiosity", "eta": self.curiosity, "network": self.network}

    def schedules(self, clock: Clock) -> dict[str, float]:
        found = super().schedules(clock)
        if self._clip_ranges is not None:
            found["clip_range"] = self._clip_ranges.at(clock.progress)
        return found


class A2CAgent(ActorCriticAgent):
    """Synchronous advantage actor-critic (Mnih et al., 2016): one step on each segment.

    Keys have Stable-Baselines3's names and meanings; the optimizer's `learning_rate` may be a
    schedule. `separate` gives the value function a network of its own.
    """

    name: ClassVar[str] = "a2c"

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        *,
        network: Any,
        optimizer: Any = "rmsprop",
        total_timesteps: int = 500_000,
        n_steps: int = 5,
        gamma: Fraction = 0.99,
        gae_lambda: Fraction = 1.0,
        normalize_advantage: bool = False,
        ent_coef: NonNegativeFloat = 0.0,
        vf_coef: NonNegativeFloat = 0.5,
        separate: bool = True,
        bounded: str = "squashed_normal",
        log_std_init: FiniteFloat = 0.0,
        normalize_observations: bool = False,
        normalize_rewards: bool = False,
        num_envs: int = 1,
    ) -> None:
        self.gamma = gamma
        self.gae_lambda = gae_lambda
        self.normalize_advantage = normalize_advantage
        self.ent_coef = ent_coef
        self.vf_coef = vf_coef
        self.normalize_observations = normalize_observations
        self.normalize_rewards = normalize_rewards
        self.num_envs = num_envs
        super().__init__(
            observation_space,
            action_space,
            network=network,
            optimizer=optimizer,
            total_timesteps=total_timesteps,
            n_steps=n_steps,
            separate=separate,
            bounded=bounded,
            log_std_init=log_std_init,
        )

    def make_root(self) -> Component:
        root: Component = (RecurrentA2C if self.is_recurrent else A2C)(
            self.policy_spec(),
            self.action_space,
            self.optimizer,
            **self.loss_settings(),
            normalize_observations=self.normalize_observations,
            normalize_rewards=self.normalize_rewards,
            num_envs=self.num_envs,
        ).configure(scope="agent")
        return root

    def loss_settings(self) -> dict[str, Any]:
        """What the root learns by, beside policy and optimizer."""
        names = ("gamma", "gae_lambda", "ent_coef", "vf_coef", "normalize_advantage")
        return {name: getattr(self, name) for name in names}
