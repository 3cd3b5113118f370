"""Normal distributions, element by element and over vectors."""

from __future__ import annotations

import math

from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.distributions.distribution import Distribution, shape_like
from rlg.graph.core.component.ops import Ops

HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


def normal_draw(ops: Ops, parameters: Tensor) -> Tensor:
    """mean + std * noise: gradients flow into both (Kingma and Welling, 2014)."""
    noise = ops.random_normal(shape_like(ops, parameters["mean"]))
    return parameters["mean"] + ops.exp(parameters["log_std"]) * noise


def normal_log_prob(ops: Ops, parameters: Tensor, values: Tensor) -> Tensor:
    """The log density of each element."""
    mean, log_std = parameters["mean"], parameters["log_std"]
    values = ops.cast(values, ops.dtype_of(mean))
    return -0.5 * ops.square((values - mean) * ops.exp(-log_std)) - log_std - HALF_LOG_2PI


def normal_entropy(ops: Ops, parameters: Tensor) -> Tensor:
    """The entropy of each element."""
    return parameters["log_std"] + (0.5 + HALF_LOG_2PI)


def normal_kl(ops: Ops, parameters: Tensor, other: Tensor) -> Tensor:
    """The divergence of each element."""
    log_ratio = parameters["log_std"] - other["log_std"]
    shift = (parameters["mean"] - other["mean"]) * ops.exp(-other["log_std"])
    return 0.5 * (ops.exp(2.0 * log_ratio) + ops.square(shift) - 1.0) - log_ratio


class Normal(Distribution):
    """Independent normal distributions.

    parameters: {mean, log_std}, each [B, ...]; values and all else: [B, ...].
    """

    @api
    @graph_fn(fold_time=True)
    def sample(self, parameters: Tensor) -> Tensor:
        return normal_draw(self.ops, parameters)

    @api
    @graph_fn(fold_time=True)
    def mode(self, parameters: Tensor) -> Tensor:
        return parameters["mean"] + 0.0

    @api
    @graph_fn(fold_time=True)
    def log_prob(self, parameters: Tensor, values: Tensor) -> Tensor:
        return normal_log_prob(self.ops, parameters, values)

    @api
    @graph_fn(fold_time=True)
    def entropy(self, parameters: Tensor) -> Tensor:
        return normal_entropy(self.ops, parameters)

    @api
    @graph_fn(fold_time=True)
    def kl(self, parameters: Tensor, other: Tensor) -> Tensor:
        return normal_kl(self.ops, parameters, other)


class DiagNormal(Normal):
    """A multivariate normal distribution with a diagonal covariance.

    parameters: {mean, log_std}, each [B, ..., D]; values: [B, ..., D]; log_prob, entropy and kl:
    [B, ...], the sums over D.
    """

    @api
    @graph_fn(fold_time=True)
    def log_prob(self, parameters: Tensor, values: Tensor) -> Tensor:
        return self.ops.sum(normal_log_prob(self.ops, parameters, values), -1)

    @api
    @graph_fn(fold_time=True)
    def entropy(self, parameters: Tensor) -> Tensor:
        return self.ops.sum(normal_entropy(self.ops, parameters), -1)

    @api
    @graph_fn(fold_time=True)
    def kl(self, parameters: Tensor, other: Tensor) -> Tensor:
        return self.ops.sum(normal_kl(self.ops, parameters, other), -1)
