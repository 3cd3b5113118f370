"""What actors of distributed prioritized replay compute beside a DQN."""

from __future__ import annotations

from typing import Any

from rlg.graph import Static, Tensor, api, graph_fn
from rlg.graph.components.algorithms.dqn import DQN
from rlg.graph.components.memories.n_step import NStep
from rlg.graph.components.networks.stack import accepted
from rlg.graph.spaces import BoolBox, Dict, FloatBox, IntBox


class ApexDQN(DQN):
    """A DQN whose actors know the first priorities of their records: Horgan et al. (2018), Ape-X.

    They come from the Q-values of acting, not from further passes through the network. `act` takes
    states [B] and epsilon [B]; `prepare` takes what a task saw, time first, [n_step + T, B, ...]:
    the last n_step rows follow the T steps that become records, and come again as the first rows of
    the next task.
    """

    def __init__(
        self,
        policy: Any,
        action_space: Any,
        memory: Any = "prioritized_replay",
        loss: Any = "dqn_loss",
        optimizer: Any = "adam",
        exploration: Any = "epsilon_greedy",
        tau: float = 1.0,
        n_step: int = 3,
    ) -> None:
        super().__init__(policy, action_space, memory, loss, optimizer, exploration, tau, n_step)
        self.steps = NStep(n_step, self.loss.gamma)

    @api
    def act(self, states: Any, epsilon: Any, explore: Static[bool] = True) -> Any:
        """Actions and Q-values."""
        q_values = self.policy.q_values(states, **accepted(self.policy, "q_values", update=explore))
        if explore:
            return self.exploration.explore(q_values, epsilon), q_values
        return self.best(q_values), q_values

    @api
    def prepare(
        self, q_values: Any, actions: Any, rewards: Any, terminals: Any, truncations: Any
    ) -> Any:
        """Columns of T records, [T, B]: n-step `rewards`, `terminals`, `discounts`, `priorities`,
        and `next_rows`, the rows of the states that their windows lead to.

        Behind a truncated step there is no Q-value of the state that it led to: for its priority
        the state before stands in. Its record's next state is that step's own last observation.
        """
        windows = self.steps.call(rewards, terminals, truncations)
        return self.arrange(q_values, actions, truncations, *windows)

    @graph_fn
    def best(self, q_values: Tensor) -> Tensor:
        return self.ops.argmax(q_values, -1)

    def _columns(self, **spaces: Any) -> Dict:
        """Declared: a dry run's tasks are shorter than long windows."""
        numbers = dict.fromkeys(("rewards", "discounts", "priorities"), FloatBox(ranks="TB"))
        return Dict({**numbers, "terminals": BoolBox(ranks="TB"), "next_rows": IntBox(ranks="TB")})

    @graph_fn(spaces=_columns)
    def arrange(
        self,
        q_values: Tensor,
        actions: Tensor,
        truncations: Tensor,
        sums: Tensor,
        following: Tensor,
        terminals: Tensor,
        discounts: Tensor,
        whole: Tensor,
    ) -> Tensor:
        ops = self.ops
        n = ops.axis_size(sums, 0) - self.n_step
        ops.require(
            ops.cast(ops.axis_size(sums, 0), "int64") > self.n_step,
            f"{self.path}.prepare: the task has {self.n_step} rows or fewer. Hand in n_step + T.",
        )
        best = ops.max(q_values, -1)  # [n + T, B], or [n + T, B, D]
        chosen = ops.pick(q_values, ops.cast(actions, "int64"))
        columns = ops.arange(ops.axis_size(sums, 1))
        rows = following[:n]

        def at(x: Tensor, places: Tensor) -> Tensor:
            """Values of each environment at rows of its own."""
            flat = ops.fold_time(places * ops.axis_size(sums, 1) + columns)
            return ops.unfold_time(ops.take_rows(ops.fold_time(x), flat), places)

        cut = at(truncations, rows - 1)
        values = at(best, ops.where(cut, rows - 1, rows))
        reward, discount, ended = sums[:n], discounts[:n], terminals[:n]
        for _ in self.action_space.shape:
            reward, discount, ended = (ops.expand_dims(x, -1) for x in (reward, discount, ended))
        td = reward + discount * ops.where(ended, 0.0, values) - chosen[:n]
        sizes = ops.abs(td)
        for _ in self.action_space.shape:
            sizes = ops.mean(sizes, -1)
        return {
            "rewards": sums[:n],
            "terminals": terminals[:n],
            "discounts": discounts[:n],
            "priorities": sizes,
            "next_rows": rows,
        }
