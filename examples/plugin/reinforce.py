"""An agent of one's own: REINFORCE (Williams, 1992), from a root component and three methods.

rlg train --config-dir conf agent=reinforce env=cartpole plugins=[reinforce]
"""

from __future__ import annotations

from typing import Any

from rlg.api.agents.on_policy import OnPolicyAgent
from rlg.api.plugins import register_agent
from rlg.execution.types import Batch, Clock, LearnResult
from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.components.policies.policy import Policy
from rlg.graph.components.returns.discounted import DiscountedSum
from rlg.graph.registry import make
from rlg.graph.spaces import BoolBox, FloatBox


class Reinforce(Component):
    """Raises the log-probabilities of actions by the returns that followed. Sequences: [T, B]."""

    def __init__(self, network: Any, action_space: Any, optimizer: Any, gamma: float) -> None:
        self.policy = Policy(network, action_space)
        self.returns = DiscountedSum(gamma)
        self.optimizer = make(optimizer)

    @api
    def act(self, states: Any, explore: Static[bool] = True) -> Any:
        return self.policy.get_actions(states, explore)

    @api
    def update(self, states: Any, actions: Any, rewards: Any, ends: Any) -> Any:
        returns = self.returns.call(rewards, ends)
        loss = self.loss(self.policy.log_probs(states, actions), returns)
        norm = self.optimizer.step(loss, self.policy.variables())
        return loss, norm

    @graph_fn
    def loss(self, log_probs: Tensor, returns: Tensor) -> Tensor:
        ops = self.ops
        centred = returns - ops.mean(returns)
        scale = ops.sqrt(ops.mean(ops.square(centred))) + 1e-8
        return -ops.mean(log_probs * ops.stop_gradient(centred / scale))


class ReinforceAgent(OnPolicyAgent):
    """REINFORCE with returns of mean 0 and deviation 1 as its baseline."""

    def __init__(
        self,
        observation_space: Any,
        action_space: Any,
        *,
        network: Any,
        optimizer: Any = "adam",
        gamma: float = 0.99,
        n_steps: int = 128,
        total_timesteps: int = 50_000,
    ) -> None:
        super().__init__(observation_space, action_space, total_timesteps, n_steps)
        self.network, self.optimizer, self.gamma = network, optimizer, gamma

    def make_root(self) -> Component:
        root = Reinforce(self.network, self.action_space, self.optimizer, self.gamma)
        return root.configure(scope="agent")

    def input_spaces(self) -> dict[str, Any]:
        states, actions = self.observation_space, self.action_space
        return {
            "states": states,
            "update.states": states.with_ranks("TB"),
            "actions": actions.with_ranks("TB"),
            "rewards": FloatBox(ranks="TB"),
            "ends": BoolBox(ranks="TB"),
        }

    def learn(self, batch: Batch | None, clock: Clock) -> LearnResult:
        steps = batch.records["segment"]
        ends = steps.terminals | steps.truncations
        loss, norm = self.executor.execute(
            "update", steps.states, steps.columns["actions"], steps.rewards, ends
        )
        return LearnResult({"loss": loss, "gradient_norm": norm})


register_agent("reinforce", ReinforceAgent)
