"""Several normal distributions, of which one is drawn."""

from __future__ import annotations

from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.distributions.categorical import gumbel
from rlg.graph.components.distributions.distribution import Distribution
from rlg.graph.components.distributions.normal import normal_draw, normal_log_prob


class NormalMixture(Distribution):
    """p(x) = sum_k w_k N(x; mean_k, std_k) for each element: Bishop (1994).

    parameters: {logits, mean, log_std}, each [B, ..., K]; values and all else: [B, ...]. The mode
    is the mean of the mixture. Entropy and kl have no closed form: they are estimates without bias
    from one draw. Draws are constants for gradients where they choose the component.
    """

    @api
    @graph_fn(fold_time=True)
    def sample(self, parameters: Tensor) -> Tensor:
        return self._draw(parameters)

    @api
    @graph_fn(fold_time=True)
    def mode(self, parameters: Tensor) -> Tensor:
        return self.ops.sum(self.ops.softmax(parameters["logits"], -1) * parameters["mean"], -1)

    @api
    @graph_fn(fold_time=True)
    def log_prob(self, parameters: Tensor, values: Tensor) -> Tensor:
        return self._log_prob(parameters, values)

    @api
    @graph_fn(fold_time=True)
    def entropy(self, parameters: Tensor) -> Tensor:
        return -self._log_prob(parameters, self._draw(parameters))

    @api
    @graph_fn(fold_time=True)
    def kl(self, parameters: Tensor, other: Tensor) -> Tensor:
        values = self._draw(parameters)
        return self._log_prob(parameters, values) - self._log_prob(other, values)

    def _draw(self, parameters: Tensor) -> Tensor:
        ops, logits = self.ops, parameters["logits"]
        chosen = ops.argmax(logits + gumbel(ops, logits), -1)
        return ops.pick(normal_draw(ops, parameters), chosen)

    def _log_prob(self, parameters: Tensor, values: Tensor) -> Tensor:
        ops = self.ops
        items = normal_log_prob(ops, parameters, ops.expand_dims(values, -1))  # [B, ..., K]
        return ops.logsumexp(ops.log_softmax(parameters["logits"], -1) + items, -1)
