"""DQN for many processes: actors that know first priorities, memories apart from the learner."""

from __future__ import annotations

from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Size, Static, Tensor, api, graph_fn
from rlg.graph.components.algorithms.dqn import DQN
from rlg.graph.components.memories.first_priorities import FirstPriorities
from rlg.graph.components.memories.frame_transitions import FrameTransitions
from rlg.graph.components.memories.frames import FrameReplay
from rlg.graph.components.memories.prioritized import Prioritized
from rlg.graph.components.networks.stack import accepted
from rlg.graph.limits import PositiveInt


class ApexDQN(DQN):
    """A DQN whose actors know the first priorities of their records: Horgan et al. (2018), Ape-X.

    They come from the Q-values of acting, not from further passes through the network. Which
    process calls what: actors `act` and `prepare`, memories `insert`, `sample` and
    `update_priorities`, the learner `update_from` and `sync_target`; in one process `observe` and
    `update` do it all. `act` takes states [B] and epsilon [B]; `prepare` and `observe` take
    segments of steps, see FirstPriorities (of a
    FrameReplay: FrameTransitions); `records` of `insert` are what `prepare` returns.
    """

    def __init__(
        self,
        policy: Any,
        action_space: Any,
        memory: Any = "prioritized_replay",
        *,
        n_step: PositiveInt = 3,
        **options: Any,
    ) -> None:
        super().__init__(policy, action_space, memory, n_step=n_step, **options)
        if not isinstance(self.memory, Prioritized):
            raise ComponentError(
                f"ApexDQN: the memory is a {type(self.memory).__name__}, which has no priorities. "
                "Use prioritized_replay."
            )

    def _windows(self, n_step: int) -> Any:
        if isinstance(self.memory, FrameReplay):
            return FrameTransitions(n_step, self.loss.gamma, prioritized=True)
        return FirstPriorities(n_step, self.loss.gamma)

    @property
    def is_prioritized(self) -> bool:
        return True

    @api
    def act(self, states: Any, epsilon: Any, explore: Static[bool] = True) -> Any:
        """Actions and Q-values."""
        words = accepted(self.policy, "q_values", update=explore, noise=explore)
        q_values = self.policy.q_values(states, **words)
        if explore:
            return self.exploration.explore(q_values, epsilon), q_values
        return self.best(q_values), q_values

    @graph_fn
    def best(self, q_values: Tensor) -> Tensor:
        return self.ops.argmax(q_values, -1)

    @api
    def prepare(self, records: Any) -> Any:
        """Records to insert and their priorities."""
        return self.windows.call(records)

    @api
    def observe(self, records: Any) -> None:
        self.memory.insert(*self.windows.call(records))

    @api
    def sample(self, n: Size = 32, beta: Any = None) -> Any:
        """Records, keys, importance weights, and the sum and the least of all priorities."""
        records, keys, weights = self.memory.sample(n, beta)
        return records, keys, weights, self.memory.tree.total(), self.memory.tree.least()

    @api
    def update_priorities(self, keys: Any, priorities: Any) -> Any:
        """Returns how many keys were stale, of records that are gone."""
        return self.memory.update(keys, priorities)
