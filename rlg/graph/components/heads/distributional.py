"""Heads that estimate the distribution of returns, and Q-values as its mean."""

from __future__ import annotations

from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.components.actions import discrete, num_choices
from rlg.graph.components.layers.noisy import dense
from rlg.graph.components.networks.stack import Stack
from rlg.graph.limits import FiniteFloat, PositiveInt


class DistributionalHead(Component):
    """N numbers for each choice of each sub-action; what they mean is decided by its children.

    inputs: features [B, F], also with time; distributions: [B, A, N], or [B, D, A, N] for D
    sub-actions; Q-values: the same without N. With `dueling` value and advantages have streams of
    their own, V + A - mean(A) for each of the N numbers; with `units` a stream has a hidden layer.
    """

    def __init__(
        self,
        action_space: Any,
        size: PositiveInt,
        dueling: bool = False,
        units: PositiveInt | None = None,
        activation: str = "relu",
        noisy: bool = False,
    ) -> None:
        self.action_space = discrete(type(self).__name__, action_space)
        self.size = size
        self.dueling = dueling
        self.units = units
        self.activation = activation
        self.noisy = noisy
        self.value = self._stream(size) if dueling else None
        outputs = self.action_space.flat_dim * num_choices(self.action_space) * size
        self.advantages = self._stream(outputs)

    def _stream(self, outputs: int) -> Stack:
        hidden = [] if self.units is None else [dense(self.units, self.activation, self.noisy)]
        return Stack([*hidden, dense(outputs, noisy=self.noisy)])

    @api
    def call(self, inputs: Any, noise: Static[bool] = False) -> Any:
        """Q-values."""
        return self.means(self.distributions(inputs, noise))

    @api
    def distributions(self, inputs: Any, noise: Static[bool] = False) -> Any:
        advantages = self.advantages.call(inputs, noise=noise)
        value = None if self.value is None else self.value.call(inputs, noise=noise)
        return self.arrange(advantages, value)

    @graph_fn(fold_time=True)
    def arrange(self, advantages: Tensor, value: Tensor | None = None) -> Tensor:
        """advantages: [B, D * A * N]; value: [B, N]."""
        ops, space = self.ops, self.action_space
        n = ops.batch_size(advantages)
        shape = (n, *space.shape, num_choices(space), self.size)
        advantages = ops.reshape(advantages, shape)
        if value is None:
            return advantages
        value = ops.reshape(value, (n, *(1 for _ in space.shape), 1, self.size))
        return value + advantages - ops.mean(advantages, -2, keepdims=True)

    @api
    @graph_fn(fold_time=True)
    def means(self, distributions: Tensor) -> Tensor:
        """The Q-values of distributions."""
        return self._means(distributions)

    def _means(self, distributions: Tensor) -> Tensor:
        raise NotImplementedError


class CategoricalHead(DistributionalHead):
    """Logits of `n_atoms` returns from v_min to v_max for each choice: Bellemare et al. (2017).

    inputs: features [B, F], also with time; distributions: logits [B, A, n_atoms], or [B, D, A,
    n_atoms]; Q-values: [B, A], or [B, D, A]. See DistributionalHead for the rest.
    """

    def __init__(
        self,
        action_space: Any,
        n_atoms: PositiveInt = 51,
        v_min: FiniteFloat = -10.0,
        v_max: FiniteFloat = 10.0,
        dueling: bool = False,
        units: PositiveInt | None = None,
        activation: str = "relu",
        noisy: bool = False,
    ) -> None:
        super().__init__(action_space, n_atoms, dueling, units, activation, noisy)
        self.n_atoms = n_atoms
        self.v_min = v_min
        self.v_max = v_max
        check_atoms("CategoricalHead", n_atoms, v_min, v_max)

    def _means(self, distributions: Tensor) -> Tensor:
        ops = self.ops
        atoms = ops.constant(atoms_of(self.n_atoms, self.v_min, self.v_max), "float32")
        return ops.sum(ops.softmax(distributions, -1) * atoms, -1)


class QuantileHead(DistributionalHead):
    """`n_quantiles` quantiles of the return of each choice: Dabney et al. (2018).

    Quantile i is that of (2i - 1) / 2N, i from 1 to N. inputs: features [B, F], also with time;
    distributions: [B, A, n_quantiles], or [B, D, A, n_quantiles]; Q-values: [B, A], or [B, D, A].
    See DistributionalHead for the rest.
    """

    def __init__(
        self,
        action_space: Any,
        n_quantiles: PositiveInt = 200,
        dueling: bool = False,
        units: PositiveInt | None = None,
        activation: str = "relu",
        noisy: bool = False,
    ) -> None:
        super().__init__(action_space, n_quantiles, dueling, units, activation, noisy)
        self.n_quantiles = n_quantiles

    def _means(self, distributions: Tensor) -> Tensor:
        return self.ops.mean(distributions, -1)


def atoms_of(n_atoms: int, v_min: float, v_max: float) -> list[float]:
    """The returns that probabilities belong to, evenly spaced."""
    step = (v_max - v_min) / (n_atoms - 1)
    return [v_min + i * step for i in range(n_atoms)]


def check_atoms(where: str, n_atoms: int, v_min: float, v_max: float) -> None:
    """Refuses atoms that are none."""
    if n_atoms < 2 or v_min >= v_max:
        raise ComponentError(
            f"{where}: {n_atoms} atoms from v_min={v_min} to v_max={v_max}; v_min must be below "
            "v_max, with two atoms or more."
        )
