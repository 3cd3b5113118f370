"""N-step transitions from segments of experience, before they go into a memory."""

from __future__ import annotations

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Space


class NStep(Component):
    """Sums rewards over up to `n_step` steps, never across the end of an episode: Sutton (1988).

    rewards: float [T, B] of a time-major segment; terminals, truncations: bool [T, B], the steps
    that ended an episode for good, or only cut it. For each start: the discounted sum; the index of
    the state to bootstrap from, 1 to T (s_T is the one after the segment); whether it is terminal;
    gamma^k for the k steps taken; and whether the window is whole: cut by the segment's end, it
    should wait for the next segment.
    """

    def __init__(self, n_step: int = 3, gamma: float = 0.99) -> None:
        self.n_step = n_step
        self.gamma = gamma

    def create_variables(self, *, rewards: Space) -> None:
        if self.n_step < 1 or not 0.0 <= self.gamma <= 1.0:
            raise ComponentError(
                f"{self.path}: n_step is {self.n_step} and gamma {self.gamma}; give at least one "
                "step and a gamma from 0 to 1."
            )
        ranks = {box.ranks for box in rewards.flatten().values()}
        if ranks != {"TB"}:
            raise SpaceError(
                f"{self.path}: `rewards` is {rewards}; steps follow each other along the leading "
                "axis. Give it ranks='TB'."
            )

    @api
    @graph_fn
    def call(
        self, rewards: Tensor, terminals: Tensor, truncations: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Sums, next indices, terminals, discounts and completeness, each [T, B]."""
        ops = self.ops
        steps = ops.axis_size(rewards, 0)
        times = ops.arange(steps)  # [T]
        last = ops.cast(steps, "int64") - 1
        ends = terminals if truncations is None else ops.logical_or(terminals, truncations)
        total = ops.zeros_like(rewards)
        terminal = ops.logical_and(terminals, ops.logical_not(terminals))
        open_ = ops.logical_not(terminal)  # Windows that go on: [T, B].
        count = ops.cast(terminal, "int64")
        discount = ops.ones_like(rewards)
        for step in range(self.n_step):
            rows = ops.minimum(times + step, last + 0 * times)
            inside = ops.expand_dims(times + step <= last, -1)  # [T, 1]
            open_here = ops.logical_and(open_, inside)
            reward = discount * ops.take_rows(rewards, rows)
            total = total + ops.where(open_here, reward, ops.zeros_like(reward))
            taken = ops.take_rows(terminals, rows)
            terminal = ops.logical_or(terminal, ops.logical_and(open_here, taken))
            count = count + ops.cast(open_here, "int64")
            discount = ops.where(open_here, self.gamma * discount, discount)
            ended = ops.logical_and(open_here, ops.take_rows(ends, rows))
            open_ = ops.logical_and(open_, ops.logical_not(ended))
        whole = ops.logical_or(ops.logical_not(open_), count >= self.n_step)
        return total, ops.expand_dims(times, -1) + count, terminal, discount, whole
