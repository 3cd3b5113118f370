"""The beta distribution between bounds."""

from __future__ import annotations

from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.distributions.distribution import Bounded, shape_like

_TRIES = 8  # Marsaglia and Tsang accept more than 95 %: all fail once in 2e10 draws.
_TINY = 1e-10
_MARGIN = 1e-6


class Beta(Bounded):
    """Beta(alpha, beta), scaled from (0, 1) to `low` and `high`: Chou et al. (2017).

    parameters: {alpha, beta}, both positive, each [B, ...]; values and all else: [B, ...]. Draws
    are constants for gradients. Where alpha or beta is not above 1 the mode is the mean.
    """

    @api
    @graph_fn(fold_time=True)
    def sample(self, parameters: Tensor) -> Tensor:
        ops = self.ops
        first = self._gamma(ops.stop_gradient(parameters["alpha"]))
        second = self._gamma(ops.stop_gradient(parameters["beta"]))
        return self._scale(first / (first + second))

    @api
    @graph_fn(fold_time=True)
    def mode(self, parameters: Tensor) -> Tensor:
        ops = self.ops
        alpha, beta = parameters["alpha"], parameters["beta"]
        peaked = ops.logical_and(alpha > 1.0, beta > 1.0)
        peak = (alpha - 1.0) / ops.where(peaked, alpha + beta - 2.0, 1.0)
        return self._scale(ops.where(peaked, peak, alpha / (alpha + beta)))

    @api
    @graph_fn(fold_time=True)
    def log_prob(self, parameters: Tensor, values: Tensor) -> Tensor:
        ops = self.ops
        low, high = self._bounds()
        alpha, beta = parameters["alpha"], parameters["beta"]
        unit = (ops.cast(values, "float32") - low) / (high - low)
        unit = ops.clip(unit, _MARGIN, 1.0 - _MARGIN)
        log_density = (alpha - 1.0) * ops.log(unit) + (beta - 1.0) * ops.log1p(-unit)
        return log_density - self._log_beta(alpha, beta) - ops.log(high - low)

    @api
    @graph_fn(fold_time=True)
    def entropy(self, parameters: Tensor) -> Tensor:
        ops = self.ops
        low, high = self._bounds()
        alpha, beta = parameters["alpha"], parameters["beta"]
        first = (alpha - 1.0) * ops.digamma(alpha) + (beta - 1.0) * ops.digamma(beta)
        both = (alpha + beta - 2.0) * ops.digamma(alpha + beta)
        return self._log_beta(alpha, beta) - first + both + ops.log(high - low)

    @api
    @graph_fn(fold_time=True)
    def kl(self, parameters: Tensor, other: Tensor) -> Tensor:
        ops = self.ops
        alpha, beta = parameters["alpha"], parameters["beta"]
        more, rest = alpha - other["alpha"], beta - other["beta"]
        return (
            self._log_beta(other["alpha"], other["beta"])
            - self._log_beta(alpha, beta)
            + more * ops.digamma(alpha)
            + rest * ops.digamma(beta)
            - (more + rest) * ops.digamma(alpha + beta)
        )

    def _log_beta(self, alpha: Tensor, beta: Tensor) -> Tensor:
        ops = self.ops
        return ops.lgamma(alpha) + ops.lgamma(beta) - ops.lgamma(alpha + beta)

    def _scale(self, unit: Tensor) -> Tensor:
        low, high = self._bounds()
        return self._inside(low + (high - low) * unit)

    def _gamma(self, shape: Tensor) -> Tensor:
        """Draws by Marsaglia and Tsang (2000): the first of _TRIES proposals that is accepted."""
        ops = self.ops
        sizes = shape_like(ops, shape)
        low = shape < 1.0  # These are drawn one higher and shrunk.
        d = ops.expand_dims(ops.where(low, shape + 1.0, shape) - 1.0 / 3.0, -1)  # [B, ..., 1]
        normal = ops.random_normal((*sizes, _TRIES))
        tries = ops.clip(ops.random_uniform((*sizes, _TRIES)), _TINY, 1.0)
        shrink = ops.clip(ops.random_uniform(sizes), _TINY, 1.0)
        root = 1.0 + normal / ops.sqrt(9.0 * d)
        v = ops.clip(root * root * root, _TINY, 1e10)
        bound = 0.5 * ops.square(normal) + d - d * v + d * ops.log(v)
        accepted = ops.logical_and(root > 0.0, ops.log(tries) < bound)
        first = ops.argmax(ops.cast(accepted, "float32"), -1)
        gamma = ops.pick(d * v, first)
        return ops.where(low, gamma * ops.exp(ops.log(shrink) / shape), gamma)
