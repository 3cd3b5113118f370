"""TD3 and DDPG: actor-critics with deterministic policies and noise."""

from __future__ import annotations

from typing import Any, ClassVar

from rlg.api.agents.off_policy import OffPolicyAgent
from rlg.graph import Component
from rlg.graph.components.algorithms.td3 import TD3
from rlg.graph.limits import NonNegativeFloat, PositiveInt
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
        action_noise: NonNegativeFloat = 0.1,
        policy_delay: PositiveInt = 2,
        target_policy_noise: NonNegativeFloat = 0.2,
        target_noise_clip: NonNegativeFloat = 0.5,
        **options: Any,
    ) -> None:
        self.action_noise = action_noise
        self.policy_delay = policy_delay
        self.target_policy_noise = target_policy_noise
        self.target_noise_clip = target_noise_clip
        super().__init__(observation_space, action_space, network=network, **options)

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
