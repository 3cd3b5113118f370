"""Losses of DQNs that estimate the distribution of returns."""

from __future__ import annotations

from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.heads.distributional import atoms_of, check_atoms
from rlg.graph.components.losses.items import ItemLoss
from rlg.graph.limits import FiniteFloat, Fraction, PositiveFloat, PositiveInt
from rlg.graph.spaces import Space


class DistributionalLoss(ItemLoss):
    """The distance of Z(s, a) from the target r + gamma^n * Z_target(s', a').

    z, z_next_target: distributions [B, A, N] of a head, or [B, D, A, N] for D sub-actions, each
    with its own target; q_next: [B, A] or [B, D, A], by which a' is chosen (the online network's
    for `double`, else the target network's); actions: ints, terminals: bool; discounts: [B],
    gamma^k where windows differ in length (default: gamma^n_step for all).

    `compare` returns the loss of each item, [B] (of sub-actions the mean), the TD errors of the
    means, and what priorities are made of, both [B] or [B, D].
    """

    gamma: float
    n_step: int

    @api
    @graph_fn(fold_time=True)
    def compare(
        self,
        z: Tensor,
        actions: Tensor,
        rewards: Tensor,
        terminals: Tensor,
        q_next: Tensor,
        z_next_target: Tensor,
        discounts: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        ops = self.ops
        estimates = self._pick(z, ops.cast(actions, "int64"))  # [B, N] or [B, D, N]
        following = self._pick(z_next_target, ops.argmax(q_next, -1))
        discount = self.gamma**self.n_step if discounts is None else discounts
        for _ in ops.shape_of(estimates)[1:]:
            rewards, terminals = ops.expand_dims(rewards, -1), ops.expand_dims(terminals, -1)
            discount = discount if discounts is None else ops.expand_dims(discount, -1)
        discount = ops.where(terminals, 0.0, discount + 0.0 * rewards)
        items, td, divergences = self._compare(
            estimates, rewards, discount, ops.stop_gradient(following)
        )
        for _ in ops.shape_of(td)[1:]:
            items = ops.mean(items, -1)
        return items, ops.stop_gradient(td), ops.stop_gradient(divergences)

    @api
    @graph_fn(fold_time=True)
    def loss(self, items: Tensor, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The mean and the loss of each item, [B]; weights [B] multiply it once."""
        return self.weigh(items, weights)

    def _compare(
        self, estimates: Tensor, rewards: Tensor, discounts: Tensor, following: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Items, TD errors and divergences, [...] of [..., N]; rewards and discounts: [..., 1]."""
        raise NotImplementedError

    def _pick(self, z: Tensor, actions: Tensor) -> Tensor:
        """The distribution of each action: [..., N] of [..., A, N]."""
        ops = self.ops
        choices = ops.one_hot(actions, int(ops.shape_of(z)[-2] or 0))
        return ops.sum(z * ops.expand_dims(choices, -1), -2)


class CategoricalDQNLoss(DistributionalLoss):
    """The cross-entropy of the projected target and Z(s, a), "C51": Bellemare et al. (2017).

    Distributions are logits of `n_atoms` returns from v_min to v_max, as a categorical_head
    returns them. The priority is the Kullback-Leibler divergence: Hessel et al. (2018). See
    DistributionalLoss for arguments and outputs.
    """

    def __init__(
        self,
        gamma: Fraction = 0.99,
        n_step: PositiveInt = 1,
        double: bool = True,
        n_atoms: PositiveInt = 51,
        v_min: FiniteFloat = -10.0,
        v_max: FiniteFloat = 10.0,
    ) -> None:
        self.gamma = gamma
        self.n_step = n_step
        self.double = double
        self.n_atoms = n_atoms
        self.v_min = v_min
        self.v_max = v_max
        check_atoms("CategoricalDQNLoss", n_atoms, v_min, v_max)

    def create_variables(self, *, terminals: Space | None = None) -> None:
        self.check_mask(terminals=terminals)

    def _compare(
        self, estimates: Tensor, rewards: Tensor, discounts: Tensor, following: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        ops = self.ops
        atoms = ops.constant(atoms_of(self.n_atoms, self.v_min, self.v_max), "float32")
        target = self._projected(rewards + discounts * atoms, ops.softmax(following, -1))
        items = -ops.sum(target * ops.log_softmax(estimates, -1), -1)
        # 0 log 0 is 0.
        entropy = -ops.sum(target * ops.log(ops.clip(target, 1e-30, 1.0)), -1)
        td = ops.sum((target - ops.softmax(estimates, -1)) * atoms, -1)
        return items, td, items - entropy

    def _projected(self, returns: Tensor, probabilities: Tensor) -> Tensor:
        """Shares each probability between the two atoms next to its return, the nearer the more."""
        ops = self.ops
        step = (self.v_max - self.v_min) / (self.n_atoms - 1)
        places = (ops.clip(returns, self.v_min, self.v_max) - self.v_min) / step  # [..., N]
        atoms = ops.constant([[float(i)] for i in range(self.n_atoms)], "float32")  # [N, 1]
        shares = ops.relu(1.0 - ops.abs(ops.expand_dims(places, -2) - atoms))  # [..., N, N]
        return ops.sum(shares * ops.expand_dims(probabilities, -2), -1)


class QuantileDQNLoss(DistributionalLoss):
    """The quantile Huber loss, "QR-DQN": Dabney et al. (2018), equation 10.

    Distributions are quantiles, as a quantile_head returns them. An item costs the sum over the
    estimated quantiles of the mean over the target's, |tau - (u < 0)| * huber(u); with no
    `huber_delta` |tau - (u < 0)| * |u|. The priority is that loss. See DistributionalLoss for
    arguments and outputs.
    """

    def __init__(
        self,
        gamma: Fraction = 0.99,
        n_step: PositiveInt = 1,
        double: bool = False,
        huber_delta: PositiveFloat | None = 1.0,
    ) -> None:
        self.gamma = gamma
        self.n_step = n_step
        self.double = double
        self.huber_delta = huber_delta

    def create_variables(self, *, terminals: Space | None = None) -> None:
        self.check_mask(terminals=terminals)

    def _compare(
        self, estimates: Tensor, rewards: Tensor, discounts: Tensor, following: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        ops, delta = self.ops, self.huber_delta
        targets = rewards + discounts * following  # [..., N]
        td = ops.mean(targets, -1) - ops.mean(estimates, -1)
        errors = ops.expand_dims(targets, -2) - ops.expand_dims(estimates, -1)  # [..., i, j]
        size = ops.abs(errors)
        costs = size
        if delta is not None:
            linear = delta * (size - 0.5 * delta)
            costs = ops.where(size <= delta, 0.5 * ops.square(errors), linear)
        n = int(ops.shape_of(estimates)[-1] or 0)
        taus = ops.constant([[(2 * i + 1) / (2 * n)] for i in range(n)], "float32")  # [N, 1]
        below = ops.cast(errors < 0.0, "float32")
        items = ops.sum(ops.mean(ops.abs(taus - below) * costs, -1), -1)
        return items, td, items
