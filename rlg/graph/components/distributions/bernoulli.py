"""Yes or no."""

from __future__ import annotations

from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.distributions.distribution import Distribution, shape_like


class Bernoulli(Distribution):
    """Yes with probability sigmoid(logit).

    parameters: logits [B, ...]; values: [B, ...], bool or another `dtype` of 0 and 1; the rest:
    [B, ...], in nats. The mode is yes only above 0.5.
    """

    def __init__(self, dtype: str = "bool") -> None:
        self.dtype = dtype

    @api
    @graph_fn(fold_time=True)
    def sample(self, parameters: Tensor) -> Tensor:
        ops = self.ops
        uniform = ops.random_uniform(shape_like(ops, parameters))
        return ops.cast(uniform < ops.sigmoid(parameters), self.dtype)

    @api
    @graph_fn(fold_time=True)
    def mode(self, parameters: Tensor) -> Tensor:
        return self.ops.cast(parameters > 0.0, self.dtype)

    @api
    @graph_fn(fold_time=True)
    def log_prob(self, parameters: Tensor, values: Tensor) -> Tensor:
        ops = self.ops
        no = ops.softplus(parameters)  # -log(1 - p)
        return ops.where(ops.cast(values, "bool"), parameters - no, -no)

    @api
    @graph_fn(fold_time=True)
    def entropy(self, parameters: Tensor) -> Tensor:
        ops = self.ops
        return ops.softplus(parameters) - ops.sigmoid(parameters) * parameters

    @api
    @graph_fn(fold_time=True)
    def kl(self, parameters: Tensor, other: Tensor) -> Tensor:
        ops = self.ops
        ratio = ops.sigmoid(parameters) * (parameters - other)
        return ratio + ops.softplus(other) - ops.softplus(parameters)
