"""The normal distribution squashed into bounds."""

from __future__ import annotations

import math

from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.distributions.distribution import Bounded
from rlg.graph.components.distributions.normal import (
    normal_draw,
    normal_entropy,
    normal_kl,
    normal_log_prob,
)

_LOG_2 = math.log(2.0)
# How far inside of (-1, 1) values are taken to be; float32 has no finite atanh beyond 1 - 6e-8.
_MARGIN = 1e-6


class SquashedNormal(Bounded):
    """Draws u from a normal distribution; the value is tanh(u), scaled to `low` and `high`.

    Haarnoja et al., "Soft Actor-Critic" (2018), appendix C: per element, log p = log N(u) -
    log(1 - tanh(u)^2) - log((high - low) / 2), where log(1 - tanh(u)^2) = 2 (log 2 - u -
    softplus(-2u)). parameters: {mean, log_std} of u, each [B, ...]; values and all else: [B, ...].
    The mode is that of u, squashed. The entropy has no closed form: it is an estimate without bias
    from one draw of u. `sample_log_prob` is exact also where tanh saturates.
    """

    @api
    @graph_fn(fold_time=True)
    def sample(self, parameters: Tensor) -> Tensor:
        return self._squash(normal_draw(self.ops, parameters))

    @api
    @graph_fn(fold_time=True)
    def mode(self, parameters: Tensor) -> Tensor:
        return self._squash(parameters["mean"])

    @api
    @graph_fn(fold_time=True)
    def log_prob(self, parameters: Tensor, values: Tensor) -> Tensor:
        ops = self.ops
        low, high = self._bounds()
        unit = (2.0 * ops.cast(values, "float32") - (low + high)) / (high - low)
        u = ops.atanh(ops.clip(unit, -1.0 + _MARGIN, 1.0 - _MARGIN))
        return normal_log_prob(ops, parameters, u) - self._log_slope(u)

    @api
    @graph_fn(fold_time=True)
    def sample_log_prob(self, parameters: Tensor) -> tuple[Tensor, Tensor]:
        """A draw and its log-probability."""
        u = normal_draw(self.ops, parameters)
        return self._squash(u), normal_log_prob(self.ops, parameters, u) - self._log_slope(u)

    @api
    @graph_fn(fold_time=True)
    def entropy(self, parameters: Tensor) -> Tensor:
        u = normal_draw(self.ops, parameters)
        return normal_entropy(self.ops, parameters) + self._log_slope(u)

    @api
    @graph_fn(fold_time=True)
    def kl(self, parameters: Tensor, other: Tensor) -> Tensor:
        """That of the normal distributions: squashing both alike changes nothing."""
        return normal_kl(self.ops, parameters, other)

    def _squash(self, u: Tensor) -> Tensor:
        low, high = self._bounds()
        return self._inside(0.5 * (low + high) + 0.5 * (high - low) * self.ops.tanh(u))

    def _log_slope(self, u: Tensor) -> Tensor:
        """log of d value / d u."""
        ops = self.ops
        low, high = self._bounds()
        return 2.0 * (_LOG_2 - u - ops.softplus(-2.0 * u)) + ops.log(0.5 * (high - low))
