"""From features to the parameters of one distribution: what an action head has for each leaf."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.distributions.categorical import MASKED
from rlg.graph.components.initializers import InitializerSpec
from rlg.graph.components.layers.dense import Dense
from rlg.graph.spaces import Box, Space

# Where standard deviations that depend on the state are kept: Haarnoja et al. (2018).
LOG_STD_LOW, LOG_STD_HIGH = -20.0, 2.0


class Logits(Component):
    """Logits [B, *shape] by a linear layer; those that `exists` (bool, shape) denies are MASKED."""

    def __init__(
        self,
        shape: tuple[int, ...],
        exists: NDArray[Any] | None = None,
        kernel_init: InitializerSpec | None = None,
    ) -> None:
        self.shape = shape
        self.exists = None if exists is None or exists.all() else exists
        self.output = Dense(math.prod(shape), kernel_init=kernel_init)

    @api
    def call(self, inputs: Any) -> Any:
        return self.arrange(self.output.call(inputs))

    @graph_fn(fold_time=True)
    def arrange(self, outputs: Tensor) -> Tensor:
        ops = self.ops
        logits = ops.reshape(outputs, (ops.batch_size(outputs), *self.shape))
        if self.exists is None:
            return logits
        return ops.where(ops.constant(self.exists[None], "bool"), logits, MASKED)


class MeanAndStd(Component):
    """{mean, log_std}, each [B, *shape]; log_std is a variable, or depends on the state."""

    def __init__(
        self,
        shape: tuple[int, ...],
        state_dependent_std: bool = False,
        log_std_init: float = 0.0,
        kernel_init: InitializerSpec | None = None,
    ) -> None:
        self.shape = shape
        self.state_dependent_std = state_dependent_std
        self.log_std_init = log_std_init
        n = math.prod(shape)
        self.mean = Dense(n, kernel_init=kernel_init)
        if state_dependent_std:
            start = {"type": "constant", "value": log_std_init}
            self.log_std = Dense(n, kernel_init=kernel_init, bias_init=start)

    def create_variables(self, *, inputs: Space) -> None:
        if not self.state_dependent_std:
            self._log_std = self.variable(
                "log_std", self.shape, value=self.log_std_init, trainable=True
            )

    @api
    def call(self, inputs: Any) -> Any:
        mean = self.mean.call(inputs)
        if self.state_dependent_std:
            return self.arrange_both(mean, self.log_std.call(inputs))
        return self.arrange(mean)

    @graph_fn(fold_time=True)
    def arrange(self, mean: Tensor) -> Tensor:
        ops = self.ops
        mean = ops.reshape(mean, (ops.batch_size(mean), *self.shape))
        return {"mean": mean, "log_std": ops.zeros_like(mean) + self._log_std}

    @graph_fn(fold_time=True)
    def arrange_both(self, mean: Tensor, log_std: Tensor) -> Tensor:
        ops = self.ops
        shape = (ops.batch_size(mean), *self.shape)
        log_std = ops.clip(log_std, LOG_STD_LOW, LOG_STD_HIGH)
        return {"mean": ops.reshape(mean, shape), "log_std": ops.reshape(log_std, shape)}


class Concentrations(Component):
    """{alpha, beta}, each [B, *shape] and above 1: then there is one peak (Chou et al., 2017)."""

    def __init__(self, shape: tuple[int, ...], kernel_init: InitializerSpec | None = None) -> None:
        self.shape = shape
        self.alpha = Dense(math.prod(shape), kernel_init=kernel_init)
        self.beta = Dense(math.prod(shape), kernel_init=kernel_init)

    @api
    def call(self, inputs: Any) -> Any:
        return self.arrange(self.alpha.call(inputs), self.beta.call(inputs))

    @graph_fn(fold_time=True)
    def arrange(self, alpha: Tensor, beta: Tensor) -> Tensor:
        ops = self.ops
        shape = (ops.batch_size(alpha), *self.shape)
        return {
            "alpha": 1.0 + ops.softplus(ops.reshape(alpha, shape)),
            "beta": 1.0 + ops.softplus(ops.reshape(beta, shape)),
        }


def is_binary(box: Box) -> bool:
    """Whether a leaf is of yes and no: bool, or gymnasium's MultiBinary."""
    return box.kind == "bool" or (box.dtype == "int8" and box.num_categories == 2)


def is_bounded(box: Box) -> bool:
    """Whether a leaf of floats has both bounds everywhere."""
    return all(bound is not None and np.isfinite(bound).all() for bound in (box.low, box.high))


def choices(box: Box) -> NDArray[Any]:
    """Which choices there are, bool [*shape, A], A the most that a sub-action has."""
    counts = np.broadcast_to(np.asarray(box.num_categories), box.shape)
    exists: NDArray[Any] = np.arange(counts.max()) < counts[..., None]
    return exists
