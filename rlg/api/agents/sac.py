"""The SAC agent: soft actor-critic, for continuous and for discrete actions."""

from __future__ import annotations

from typing import Any, ClassVar

from rlg.api.agents.off_policy import OffPolicyAgent
from rlg.graph import Component
from rlg.graph.components.algorithms.sac import SAC, DiscreteSAC
from rlg.graph.spaces import Box, Space


class SACAgent(OffPolicyAgent):
    """Soft actor-critic (Haarnoja et al., 2018b); over choices: Christodoulou (2019).

    Keys have Stable-Baselines3's names and meanings: `train_freq`, `learning_starts` and
    `total_timesteps` count environment steps. The optimizer's `learning_rate` and the memory's way
    from `beta` to `final_beta` are schedules over the run.
    """

    name: ClassVar[str] = "sac"

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        *,
        network: Any,
        ent_coef: float | str = "auto",
        target_entropy: float | str = "auto",
        **options: Any,
    ) -> None:
        self.ent_coef = ent_coef
        self.target_entropy = target_entropy
        super().__init__(observation_space, action_space, network=network, **options)

    def _check_choices(self) -> None:
        box = self.action_space
        if not isinstance(box, Box) or not isinstance(box.num_categories, int) or box.shape:
            raise self._refusal(
                "it takes floats with finite bounds, or one choice, but the "
                f"environment's actions are {box}. {self._advice()}"
            )

    def make_root(self) -> Component:
        root: Component = (SAC if self._is_scaled else DiscreteSAC)(
            network=self.network,
            action_space=self.action_space,
            memory=self.memory,
            optimizer=self.optimizer,
            gamma=self.gamma,
            tau=self.tau,
            n_step=self.n_step,
            n_critics=self.n_critics,
            ent_coef=self.ent_coef,
            target_entropy=self.target_entropy,
            joined=self.joined,
        ).configure(scope="agent")
        return root
