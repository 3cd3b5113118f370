"""The loss of the DQN family, for one action, several sub-actions and nested action spaces."""

from __future__ import annotations

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.limits import Fraction, PositiveFloat, PositiveInt
from rlg.graph.spaces import Box, Space, flatten, map_leaves

SLOPE = 1e-3  # of rescaled values, far from 0


class DQNLoss(Component):
    """Squared or Huber loss of r + gamma^n * Q_target(s', a') - Q(s, a): Mnih et al. (2015).

    q, q_next, q_next_target: [B, A]; [B, D, A] for D sub-actions, each with its own target
    (Tavakoli et al., 2018); or nested: then the sub-actions share the mean of their targets.
    td: [B], or [B, D] (the leaves of a nested space side by side). actions: ints, terminals: bool;
    discounts: [B], gamma^k where windows differ in length (default: gamma^n_step for all).
    With `double` the online network chooses a' (van Hasselt et al., 2016); without `huber_delta`
    an item costs 0.5 * td^2, the mean over its sub-actions. With `value_rescaling` networks
    estimate h(Q), and targets are h(r + gamma^n * h^-1(q)) with h(x) = sign(x) (sqrt(|x| + 1) - 1)
    + x / 1000: Pohlen et al. (2018), for rewards of any size.
    """

    def __init__(
        self,
        gamma: Fraction = 0.99,
        n_step: PositiveInt = 1,
        double: bool = True,
        huber_delta: PositiveFloat | None = None,
        value_rescaling: bool = False,
    ) -> None:
        self.gamma = gamma
        self.n_step = n_step
        self.double = double
        self.huber_delta = huber_delta
        self.value_rescaling = value_rescaling

    def create_variables(self, *, terminals: Space | None = None) -> None:
        if not 0.0 <= self.gamma <= 1.0 or self.n_step < 1:
            raise ComponentError(
                f"{self.path}: gamma is {self.gamma} and n_step {self.n_step}; give a gamma from "
                "0 to 1 and at least one step."
            )
        if self.huber_delta is not None and self.huber_delta <= 0:
            raise ComponentError(
                f"{self.path}: huber_delta is {self.huber_delta}; give a positive one, or None for "
                "squares."
            )
        if terminals is not None and not (isinstance(terminals, Box) and terminals.kind == "bool"):
            raise SpaceError(
                f"{self.path}: `terminals` is {terminals}; it masks the next state. "
                "Give a BoolBox()."
            )

    @api
    @graph_fn(fold_time=True)
    def td_errors(
        self,
        q: Tensor,
        actions: Tensor,
        rewards: Tensor,
        terminals: Tensor,
        q_next: Tensor,
        q_next_target: Tensor,
        discounts: Tensor | None = None,
    ) -> Tensor:
        """Target minus estimate; `q_next` is used by `double` only."""
        estimates = self._side_by_side(map_leaves(self._pick, q, actions))  # [B] or [B, D]
        values = self._next_values(q_next, q_next_target)  # the same, or [B, 1] for all of them
        discount = self.gamma**self.n_step if discounts is None else discounts
        for _ in self.ops.shape_of(estimates)[1:]:
            rewards, terminals = self._column(rewards), self._column(terminals)
            discount = discount if discounts is None else self._column(discount)
        return self._td_errors(estimates, rewards, terminals, discount, values)

    def _td_errors(
        self, q: Tensor, rewards: Tensor, terminals: Tensor, discounts: Tensor, next_values: Tensor
    ) -> Tensor:
        if self.value_rescaling:
            next_values = self._unscaled(next_values)
        targets = rewards + discounts * self.ops.where(terminals, 0.0, next_values)
        if self.value_rescaling:
            targets = self._rescaled(targets)
        return self.ops.stop_gradient(targets) - q

    def _rescaled(self, x: Tensor) -> Tensor:
        ops = self.ops
        return ops.sign(x) * (ops.sqrt(ops.abs(x) + 1.0) - 1.0) + SLOPE * x

    def _unscaled(self, x: Tensor) -> Tensor:
        ops = self.ops
        root = ops.sqrt(1.0 + 4.0 * SLOPE * (ops.abs(x) + 1.0 + SLOPE))
        return ops.sign(x) * (ops.square((root - 1.0) / (2.0 * SLOPE)) - 1.0)

    def _next_values(self, q_next: Tensor, q_next_target: Tensor) -> Tensor:
        """What the best next action is worth, by the target network."""
        ops = self.ops
        if self.double:
            best = map_leaves(lambda x: ops.argmax(x, -1), q_next)
            values = self._side_by_side(map_leaves(self._pick, q_next_target, best))
        else:
            values = self._side_by_side(map_leaves(lambda x: ops.max(x, -1), q_next_target))
        is_nested = isinstance(q_next_target, (dict, tuple))
        return ops.mean(values, -1, keepdims=True) if is_nested else values

    @api
    @graph_fn(fold_time=True)
    def loss(self, td: Tensor, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The mean and the loss of each item, [B]; weights [B] multiply it once."""
        ops, delta = self.ops, self.huber_delta
        items = 0.5 * ops.square(td)
        if delta is not None:
            size = ops.abs(td)
            items = ops.where(size <= delta, items, delta * (size - 0.5 * delta))
        for _ in ops.shape_of(td)[1:]:
            items = ops.mean(items, -1)
        if weights is not None:
            items = weights * items
        return ops.mean(items), items

    def _column(self, x: Tensor) -> Tensor:
        return self.ops.expand_dims(x, -1)

    def _pick(self, q: Tensor, actions: Tensor) -> Tensor:
        return self.ops.pick(q, self.ops.cast(actions, "int64"))

    def _side_by_side(self, tree: Tensor) -> Tensor:
        """The leaves of a nested value as columns; a single tensor stays as it is."""
        if not isinstance(tree, (dict, tuple)):
            return tree
        ops = self.ops
        return ops.concat([ops.flatten(leaf) for leaf in flatten(tree).values()], -1)
