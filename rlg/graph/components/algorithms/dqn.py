"""Deep Q-learning as one graph."""

from __future__ import annotations

from typing import Any

from rlg.graph import Component, Size, Static, api
from rlg.graph.components.actions import discrete
from rlg.graph.components.common.sync import TargetSync
from rlg.graph.registry import make


class DQN(Component):
    """Deep Q-learning with a target network and a replay memory: Mnih et al. (2015).

    Double by its loss, dueling by the head of its policy. records: a Dict of states, actions,
    rewards, terminals (bool) and next_states, all with a batch rank; epsilon: one number, or [B];
    weights: [B].
    """

    def __init__(
        self,
        policy: Any,
        action_space: Any,
        memory: Any = "replay",
        loss: Any = "dqn_loss",
        optimizer: Any = "adam",
        exploration: Any = "epsilon_greedy",
        tau: float = 1.0,
    ) -> None:
        self.action_space = discrete("DQN", action_space)
        self.policy = make(policy, action_space=self.action_space)
        self.target_policy = self.policy.copy(scope="target_policy")
        self.memory = make(memory)
        self.loss = make(loss)
        self.optimizer = make(optimizer)
        self.exploration = make(exploration, action_space=self.action_space)
        self.tau = tau
        self.target_sync = TargetSync(tau)

    @api
    def get_actions(self, states: Any, epsilon: Any, explore: Static[bool] = True) -> Any:
        if explore:
            return self.exploration.explore(self.policy.q_values(states), epsilon)
        return self.policy.greedy(states)

    @api
    def observe(self, records: Any) -> None:
        self.memory.insert(records)

    @api
    def update(self, n: Size = 32) -> Any:
        """Learns from `n` records of the memory; gives the loss and the TD errors."""
        records, _ = self.memory.sample(n)
        return self.update_from(records)

    @api
    def update_from(self, records: Any, weights: Any = None) -> Any:
        """Learns from these records; gives the loss and the TD errors."""
        q = self.policy.q_values(records["states"])
        with self.no_gradient():
            q_next_target = self.target_policy.q_values(records["next_states"])
            q_next = q_next_target
            if self.loss.double:
                q_next = self.policy.q_values(records["next_states"])
        td_errors = self.loss.td_errors(
            q, records["actions"], records["rewards"], records["terminals"], q_next, q_next_target
        )
        loss, _ = self.loss.loss(td_errors, weights)
        self.optimizer.step(loss, self.policy.variables())
        return loss, td_errors

    @api
    def sync_target(self) -> None:
        """Moves the target network to, or (tau < 1) towards the policy."""
        source = self.policy.variables(trainable=None)
        self.target_sync.sync(source, self.target_policy.variables(trainable=None))
