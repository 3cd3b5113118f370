"""Records with their first priorities, from the Q-values that acting went by."""

from __future__ import annotations

from typing import Any, ClassVar

from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.memories.transitions import NStepTransitions
from rlg.graph.spaces import Box, FloatBox, Space


class FirstPriorities(NStepTransitions):
    """N-step records and their TD errors: Horgan et al. (2018), Ape-X, section 3.

    records: a Dict of `q_values` [.., A], `actions`, `rewards`, `terminals`, `truncations`,
    `next_states` and any others, time first, [n_step + T, B, ...]: the last n_step rows follow the
    T steps that become records, and come again as the first rows of the next segment. Returns
    records [T * B, ...] as NStepTransitions makes them, and |TD error| of each, [T * B].

    Behind a truncated step there is no Q-value of the state that it led to: for its priority the
    state before stands in. Its record's next state is that step's own last observation. It lives
    on the host, as the memories behind it do.
    """

    needed: ClassVar[tuple[str, ...]] = ("q_values", "actions", *NStepTransitions.needed)
    dropped: ClassVar[tuple[str, ...]] = ("truncations", "q_values")

    @property
    def carried(self) -> int:
        return self.n_step

    @api
    def call(self, records: Any) -> Any:
        ends = records["terminals"], records["truncations"]
        sums, following, terminals, discounts, _ = self.windows.call(records["rewards"], *ends)
        priorities = self.priorities(
            records["q_values"],
            records["actions"],
            records["truncations"],
            sums,
            following,
            terminals,
            discounts,
        )
        return self.arrange(records, sums, following, terminals, discounts), priorities

    def _sizes(self, **spaces: Box) -> Space:
        """Declared: a dry run's segments are shorter than long windows."""
        return FloatBox()

    @graph_fn(spaces=_sizes)
    def priorities(
        self,
        q_values: Tensor,
        actions: Tensor,
        truncations: Tensor,
        sums: Tensor,
        following: Tensor,
        terminals: Tensor,
        discounts: Tensor,
    ) -> Tensor:
        """|R + gamma^k max Q(s_t+k) - Q(s_t, a_t)|; of sub-actions, [.., D], their mean."""
        ops = self.ops
        count = ops.axis_size(sums, 0) - self.n_step
        ops.require(
            ops.cast(ops.axis_size(sums, 0), "int64") > self.n_step,
            f"{self.path}.call: the segment has {self.n_step} rows or fewer. Hand in n_step + T.",
        )
        best = ops.max(q_values, -1)  # [n + T, B], or [n + T, B, D]
        chosen = ops.pick(q_values, ops.cast(actions, "int64"))
        rows = following[:count]
        cut = self._at(truncations, rows - 1)
        values = self._at(best, ops.where(cut, rows - 1, rows))
        reward, discount, ended = sums[:count], discounts[:count], terminals[:count]
        axes = len(ops.shape_of(chosen)) - 2  # of sub-actions
        for _ in range(axes):
            reward, discount, ended = (ops.expand_dims(x, -1) for x in (reward, discount, ended))
        sizes = ops.abs(reward + discount * ops.where(ended, 0.0, values) - chosen[:count])
        for _ in range(axes):
            sizes = ops.mean(sizes, -1)
        return ops.fold_time(sizes)

    def _at(self, x: Tensor, rows: Tensor) -> Tensor:
        """Values of each environment at rows of its own."""
        ops = self.ops
        n = ops.axis_size(x, 1)
        flat = ops.fold_time(rows * n + ops.arange(n))
        return ops.unfold_time(ops.take_rows(ops.fold_time(x), flat), rows)
