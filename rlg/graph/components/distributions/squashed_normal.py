"""The normal distribution squashed into bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.distributions.distribution import Bounded
from rlg.graph.components.distributions.normal import (
    normal_draw,
    normal_entropy,
    normal_kl,
    normal_log_prob,
)
from rlg.graph.core.component.ops import Ops

_LOG_2 = math.log(2.0)
# How far inside of (-1, 1) values are taken to be; float32 has no finite atanh beyond 1 - 6e-8.
_MARGIN = 1e-6
# Places and weights by which the mean over a normal distribution is taken (Gauss and Hermite).
_PLACES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(16)


class SquashedNormal(Bounded):
    """Draws u from a normal distribution; the value is tanh(u), scaled to `low` and `high`.

    Haarnoja et al., "Soft Actor-Critic" (2018), appendix C: per element, log p = log N(u) -
    log(1 - tanh(u)^2) - log((high - low) / 2), where log(1 - tanh(u)^2) = 2 (log 2 - u -
    softplus(-2u)). parameters: {mean, log_std} of u, each [B, ...]; values and all else: [B, ...].
    The mode is that of u, squashed. The entropy has no closed form: it is an integral by 16 places.
    `sample_log_prob` is exact also where tanh saturates; `log_prob` of such a value is not, since
    float32 has lost u. With `keeps_draw` values are u itself, exact everywhere, and `squash` makes
    actions of them.
    """

    def __init__(self, low: Any = -1.0, high: Any = 1.0, keeps_draw: bool = False) -> None:
        super().__init__(low, high)
        self.keeps_draw = keeps_draw

    @api
    @graph_fn(fold_time=True)
    def sample(self, parameters: Tensor) -> Tensor:
        return self._value(normal_draw(self.ops, parameters))

    @api
    @graph_fn(fold_time=True)
    def mode(self, parameters: Tensor) -> Tensor:
        return self._value(parameters["mean"])

    @api
    @graph_fn(fold_time=True)
    def log_prob(self, parameters: Tensor, values: Tensor) -> Tensor:
        ops = self.ops
        if self.keeps_draw:
            u = ops.cast(values, "float32")
            return normal_log_prob(ops, parameters, u) - self._log_slope(u)
        low, high = self._bounds()
        unit = (2.0 * ops.cast(values, "float32") - (low + high)) / (high - low)
        u = ops.atanh(ops.clip(unit, -1.0 + _MARGIN, 1.0 - _MARGIN))
        return normal_log_prob(ops, parameters, u) - self._log_slope(u)

    @api
    @graph_fn(fold_time=True)
    def sample_log_prob(self, parameters: Tensor) -> tuple[Tensor, Tensor]:
        """A draw and its log-probability."""
        u = normal_draw(self.ops, parameters)
        return self._value(u), normal_log_prob(self.ops, parameters, u) - self._log_slope(u)

    @api
    @graph_fn(fold_time=True)
    def entropy(self, parameters: Tensor) -> Tensor:
        ops = self.ops
        places, weights = (ops.constant(x, "float32") for x in (_PLACES, _WEIGHTS / _WEIGHTS.sum()))
        std = ops.expand_dims(ops.exp(parameters["log_std"]), -1)
        u = ops.expand_dims(parameters["mean"], -1) + std * places  # [B, ..., 16]
        slopes = ops.sum(_log_tanh_slope(ops, u) * weights, -1)
        return normal_entropy(ops, parameters) + slopes + self._log_scale()

    @api
    @graph_fn(fold_time=True)
    def kl(self, parameters: Tensor, other: Tensor) -> Tensor:
        """That of the normal distributions: squashing both alike changes nothing."""
        return normal_kl(self.ops, parameters, other)

    @api
    @graph_fn(fold_time=True)
    def squash(self, values: Tensor) -> Tensor:
        """Values between the bounds from draws that were kept."""
        return self._squash(values)

    def _value(self, u: Tensor) -> Tensor:
        return u + 0.0 if self.keeps_draw else self._squash(u)

    def _squash(self, u: Tensor) -> Tensor:
        low, high = self._bounds()
        return self._inside(0.5 * (low + high) + 0.5 * (high - low) * self.ops.tanh(u))

    def _log_slope(self, u: Tensor) -> Tensor:
        """log of d value / d u."""
        return _log_tanh_slope(self.ops, u) + self._log_scale()

    def _log_scale(self) -> Tensor:
        low, high = self._bounds()
        return self.ops.log(0.5 * (high - low))


def _log_tanh_slope(ops: Ops, u: Tensor) -> Tensor:
    return 2.0 * (_LOG_2 - u - ops.softplus(-2.0 * u))
