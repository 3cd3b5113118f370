"""Rewards in units of the deviation of what they add up to."""

from __future__ import annotations

from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.returns.sequences import Sequences
from rlg.graph.spaces import Space


class ReturnScaling(Sequences):
    """Divides rewards by the running deviation of discounted returns, and clips to [-clip, clip].

    Stable-Baselines3's VecNormalize, for a whole segment at once: R_t = gamma * R_{t-1} + r_t, anew
    in each episode; each row is divided by the deviation of all R up to it. Episodes of `num_envs`
    environments go on from segment to segment. rewards: float [T, B], B num_envs at most;
    terminals, truncations: bool [T, B].
    """

    def __init__(
        self, gamma: float = 0.99, num_envs: int = 1, clip: float = 10.0, epsilon: float = 1e-8
    ) -> None:
        self.gamma = gamma
        self.num_envs = num_envs
        self.clip = clip
        self.epsilon = epsilon

    def create_variables(self, *, rewards: Space, terminals: Space, truncations: Space) -> None:
        if not 0.0 <= self.gamma <= 1.0 or self.num_envs < 1 or self.clip <= 0.0:
            raise ComponentError(
                f"{self.path}: gamma is {self.gamma}, num_envs {self.num_envs} and clip "
                f"{self.clip}; give a gamma from 0 to 1, and the others above 0."
            )
        self.check_order("rewards", rewards)
        self.check_same("bool", terminals=terminals, truncations=truncations)
        self._returns = self.variable("returns", (self.num_envs,), dtype="float64", kind="env")
        # VecNormalize begins with a little of a variance of 1.
        self._count = self.variable("count", dtype="float64", value=1e-4)
        self._mean = self.variable("mean", dtype="float64")
        self._variance = self.variable("variance", dtype="float64", value=1.0)

    @api
    @graph_fn
    def call(self, rewards: Tensor, terminals: Tensor, truncations: Tensor) -> Tensor:
        ops = self.ops
        r = ops.cast(self.time_first(rewards), "float64")
        ends = self.time_first(ops.logical_or(terminals, truncations))
        returns = self._run(r, ends)  # [T, B]
        variances = self._count_in(returns)  # [T]
        scale = ops.sqrt(ops.expand_dims(variances, -1) + self.epsilon)
        scaled = ops.clip(r / scale, -self.clip, self.clip)
        return self.time_first(ops.cast(scaled, "float32"))

    def _run(self, rewards: Tensor, ends: Tensor) -> Tensor:
        """Running returns; those of episodes that are not over wait for the next segment."""
        ops = self.ops
        n = ops.axis_size(rewards, 1)
        ops.require(
            ops.cast(n, "int64") <= self.num_envs,
            f"{self.path}.call: num_envs is {self.num_envs}, but the segment has more of them. "
            "Raise num_envs.",
        )
        rows = ops.arange(n) % self.num_envs  # Dry runs have others.

        def step(before: Tensor, now: Any) -> tuple[Tensor, Tensor]:
            total = self.gamma * before + now[0]
            return ops.where(now[1], ops.zeros_like(total), total), total

        last, returns = ops.scan(step, ops.take_rows(self._returns, rows), (rewards, ends))
        ops.scatter_rows(self._returns, rows, last)
        return returns

    def _count_in(self, returns: Tensor) -> Tensor:
        """The variance after each row, [T], by sums over rows so far."""
        ops = self.ops
        ones = ops.sum(ops.ones_like(returns), 1)
        counts = self._count + ops.cumsum(ones, 0)
        means = (self._count * self._mean + ops.cumsum(ops.sum(returns, 1), 0)) / counts
        squares = self._count * (self._variance + ops.square(self._mean))
        squares = (squares + ops.cumsum(ops.sum(ops.square(returns), 1), 0)) / counts
        variances = squares - ops.square(means)
        for variable, rows in (
            (self._count, counts),
            (self._mean, means),
            (self._variance, variances),
        ):
            ops.assign(variable, rows[-1])
        return variances
