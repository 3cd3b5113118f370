"""The PQN agent: Q-learning from many environments, without memory and target network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np

from rlg.api.agents.bootstrapping import BootstrappingAgent
from rlg.api.agents.epsilon_greedy import EpsilonGreedyAgent
from rlg.execution.types import Action, Clock
from rlg.graph import Component
from rlg.graph.components.algorithms.pqn import PQN
from rlg.graph.components.layers.noisy import NoisyDense
from rlg.graph.core.component.component import walk
from rlg.graph.limits import Fraction, PositiveInt, Scheduled
from rlg.graph.registry import make
from rlg.graph.spaces import FloatBox, Space


class PQNAgent(EpsilonGreedyAgent, BootstrappingAgent):
    """Parallelised Q-learning (Gallici et al., 2024).

    Keys are PPO's, and DQN's for exploration; `exploration` and the optimizer's `learning_rate` are
    schedules over the run. `q_lambda` weighs returns against values.
    """

    name: ClassVar[str] = "pqn"

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        *,
        network: Any,
        optimizer: Any = "radam",
        total_timesteps: PositiveInt = 500_000,
        n_steps: PositiveInt = 32,
        batch_size: PositiveInt = 128,
        n_epochs: PositiveInt = 2,
        gamma: Fraction = 0.99,
        q_lambda: Fraction = 0.65,
        exploration_initial_eps: Fraction = 1.0,
        exploration_final_eps: Fraction = 0.05,
        exploration_fraction: Fraction = 0.1,
        exploration: Annotated[Any, Scheduled(Fraction)] = None,
    ) -> None:
        super().__init__(
            observation_space,
            action_space,
            network=network,
            optimizer=optimizer,
            total_timesteps=total_timesteps,
            n_steps=n_steps,
        )
        # The policy splits masks off: bootstrapping needs those of the states that are judged.
        self._states, self._masks = observation_space, None
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.gamma = gamma
        self.q_lambda = q_lambda
        epsilons = exploration_initial_eps, exploration_final_eps, exploration_fraction
        self._explore_by(*epsilons, exploration)
        self._check_choices()
        self._check_network()
        self._root = self.make_root()

    def _check_network(self) -> None:
        if self.is_recurrent:
            raise self._refusal(
                "it learns from shuffled single steps, so it has no recurrent networks. Use "
                "agent=ppo or agent=r2d2, or another network (network=mlp_norm)."
            )
        if any(isinstance(layer, NoisyDense) for layer in walk(make(self.network))):
            raise self._refusal(
                "it explores by epsilon, and noisy layers would never be noisy. Use agent=rainbow, "
                "or another network (network=mlp_norm)."
            )

    def make_root(self) -> Component:
        names = ("n_epochs", "batch_size", "gamma", "q_lambda")
        masking, sees = self._masking
        root: Component = PQN(
            {"type": "q_policy", "network": self.network, **sees},
            self.action_space,
            self.optimizer,
            **masking,
            **{name: getattr(self, name) for name in names},
        ).configure(scope="agent")
        return root

    def input_spaces(self) -> Mapping[str, Any]:
        return {**super().input_spaces(), "epsilon": FloatBox(ranks="")}

    def act(
        self, observations: Any, state: Any, resets: Any, clock: Clock, *, explore: bool = True
    ) -> Action:
        epsilon = np.float32(self.epsilon_at(clock) if explore else 0.0)
        actions, values = self.executor.execute("act", observations, epsilon, explore)
        return Action(actions, {"actions": actions, "values": values})
