"""Windows of n steps over segments of experience."""

from __future__ import annotations

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.returns.sequences import Sequences
from rlg.graph.limits import Fraction, PositiveInt
from rlg.graph.spaces import Space


class NStep(Sequences):
    """Sums rewards over up to `n_step` steps, never across the end of an episode: Sutton (1988).

    rewards: float [T, B] of a time-major segment; terminals, truncations: bool [T, B], the steps
    that ended an episode for good, or only cut it. For each start: the discounted sum; the index of
    the state to bootstrap from, 1 to T (s_T is the one after the segment); whether it is terminal;
    gamma^k for the k steps taken; and whether the window is whole: cut by the segment's end, it
    should wait for the next segment. It lives on the host, as the memories behind it do.
    """

    on_host = True

    def __init__(self, n_step: PositiveInt = 3, gamma: Fraction = 0.99) -> None:
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
        self.check_order("rewards", rewards)

    @api
    @graph_fn
    def call(
        self, rewards: Tensor, terminals: Tensor, truncations: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Sums, next indices, terminals, discounts and completeness, each [T, B]."""
        ops, gamma = self.ops, self.gamma
        ends = terminals if truncations is None else ops.logical_or(terminals, truncations)
        never = ops.logical_and(terminals, ops.logical_not(terminals))
        ones = ops.cast(ops.logical_not(never), "int64")
        # Of windows of one step; behind the segment lie windows of none.
        sums, counts, discounts = rewards, ones, gamma * ops.ones_like(rewards)
        terminal, whole = terminals, ops.logical_not(never)
        for _ in range(self.n_step - 1):
            last = [0.0 * rewards[0], 0 * ones[0], ops.ones_like(rewards[0]), never[0], never[0]]
            windows = (sums, counts, discounts, terminal, whole)
            later = [self.shifted(x, end) for x, end in zip(windows, last, strict=True)]
            sums = rewards + ops.where(ends, 0.0, gamma * later[0])
            counts = ones + ops.where(ends, 0 * ones, later[1])
            discounts = gamma * ops.where(ends, ops.ones_like(rewards), later[2])
            terminal = ops.logical_or(terminals, ops.logical_and(ops.logical_not(ends), later[3]))
            whole = ops.logical_or(ends, later[4])
        times = ops.expand_dims(ops.arange(ops.axis_size(rewards, 0)), -1)
        return sums, times + counts, terminal, discounts, whole
