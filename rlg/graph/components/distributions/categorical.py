"""One of several choices."""

from __future__ import annotations

from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.distributions.distribution import Distribution, shape_like
from rlg.graph.core.component.ops import Ops

# The logit of a choice that must not be made: its probability is exactly 0, all stays finite.
MASKED = -1e9
_SMALLEST = 2.0**-25  # Half of the smallest uniform above 0.


def gumbel(ops: Ops, logits: Tensor) -> Tensor:
    """Noise whose sum with logits is largest at a choice with that choice's probability."""
    uniform = ops.clip(ops.random_uniform(shape_like(ops, logits)), _SMALLEST, 1.0)
    return -ops.log(-ops.log(uniform))


class Categorical(Distribution):
    """Choices 0, 1, ... by their logits.

    parameters: logits [B, ..., A]; values: integers [B, ...]; the rest: [B, ...]. Draws are by the
    Gumbel-max trick (Gumbel, 1954): argmax of logits - log(-log(u)), u one uniform for each choice.
    A choice with the logit MASKED is never drawn.
    """

    def __init__(self, dtype: str = "int64") -> None:
        self.dtype = dtype

    @api
    @graph_fn(fold_time=True)
    def sample(self, parameters: Tensor) -> Tensor:
        ops = self.ops
        noisy = parameters + gumbel(ops, parameters)
        return ops.cast(ops.argmax(noisy, -1), self.dtype)

    @api
    @graph_fn(fold_time=True)
    def mode(self, parameters: Tensor) -> Tensor:
        return self.ops.cast(self.ops.argmax(parameters, -1), self.dtype)

    @api
    @graph_fn(fold_time=True)
    def log_prob(self, parameters: Tensor, values: Tensor) -> Tensor:
        ops = self.ops
        return ops.pick(ops.log_softmax(parameters, -1), ops.cast(values, "int64"))

    @api
    @graph_fn(fold_time=True)
    def entropy(self, parameters: Tensor) -> Tensor:
        ops = self.ops
        return -ops.sum(ops.softmax(parameters, -1) * ops.log_softmax(parameters, -1), -1)

    @api
    @graph_fn(fold_time=True)
    def kl(self, parameters: Tensor, other: Tensor) -> Tensor:
        ops = self.ops
        ratio = ops.log_softmax(parameters, -1) - ops.log_softmax(other, -1)
        return ops.sum(ops.softmax(parameters, -1) * ratio, -1)
