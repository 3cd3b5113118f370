"""TD3 and DDPG: actor-critics with deterministic policies and noise."""

from __future__ import annotations

from typing import Any, ClassVar

from rlg.api.agents.off_policy import OffPolicyAgent
from rlg.graph import Component
from rlg.graph.components.algorithms.td3 import TD3
from rlg.graph.limits import Fraction, NonNegativeFloat, PositiveFraction, PositiveInt
from rlg.graph.spaces import Space


class TD3Agent(OffPolicyAgent):
    """Twin delayed deep deterministic policy gradient (Fujimoto et al., 2018).

    Keys have Stable-Baselines3's names and meanings; `action_noise` is the deviation of normal
    noise on actions, in units of [-1, 1]. Steps are environment steps.
    """

    name: ClassVar[str] = "td3"

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        *,
        network: Any,
        memory: Any = "replay",
        optimizer: Any = "adam",
        total_timesteps: PositiveInt = 50_000,
        gamma: Fraction = 0.99,
        tau: PositiveFraction = 0.005,
        batch_size: PositiveInt = 256,
        learning_starts: PositiveInt = 100,
        train_freq: PositiveInt = 1,
        gradient_steps: PositiveInt = 1,
        action_noise: NonNegativeFloat = 0.1,
        n_critics: PositiveInt = 2,
        policy_delay: PositiveInt = 2,
        target_policy_noise: NonNegativeFloat = 0.2,
        target_noise_clip: NonNegativeFloat = 0.5,
        n_step: PositiveInt = 1,
        final_beta: Fraction = 1.0,
        num_envs: PositiveInt = 1,
    ) -> None:
        self.gamma = gamma
        self.tau = tau
        self.action_noise = action_noise
        self.n_critics = n_critics
        self.policy_delay = policy_delay
        self.target_policy_noise = target_policy_noise
        self.target_noise_clip = target_noise_clip
        super().__init__(
            observation_space,
            action_space,
            network=network,
            memory=memory,
            optimizer=optimizer,
            total_timesteps=total_timesteps,
            batch_size=batch_size,
            learning_starts=learning_starts,
            train_freq=train_freq,
            gradient_steps=gradient_steps,
            n_step=n_step,
            final_beta=final_beta,
            num_envs=num_envs,
        )

    def make_root(self) -> Component:
        root: Component = TD3(
            network=self.network,
            action_space=self.action_space,
            memory=self.memory,
            optimizer=self.optimizer,
            exploration={"type": "gaussian_noise", "sigma": self.action_noise},
            gamma=self.gamma,
            tau=self.tau,
            n_step=self.n_step,
            n_critics=self.n_critics,
            policy_delay=self.policy_delay,
            target_policy_noise=self.target_policy_noise,
            target_noise_clip=self.target_noise_clip,
            joined=self.joined,
        ).configure(scope="agent")
        return root


class DDPGAgent(TD3Agent):
    """Deep deterministic policy gradient (Lillicrap et al., 2016): TD3 with one critic, plain
    targets and a policy that learns at each update.
    """

    name: ClassVar[str] = "ddpg"

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        *,
        network: Any,
        n_critics: PositiveInt = 1,
        policy_delay: PositiveInt = 1,
        target_policy_noise: NonNegativeFloat = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(
            observation_space,
            action_space,
            network=network,
            n_critics=n_critics,
            policy_delay=policy_delay,
            target_policy_noise=target_policy_noise,
            **options,
        )
