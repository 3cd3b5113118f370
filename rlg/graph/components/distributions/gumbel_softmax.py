"""Choices that gradients go through."""

from __future__ import annotations

import math

from rlg.errors import ComponentError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.distributions.categorical import Categorical, gumbel
from rlg.graph.limits import PositiveFloat


class GumbelSoftmax(Categorical):
    """Soft one-hot choices, softmax((logits + g) / temperature): Jang et al. (2017).

    g is Gumbel noise. parameters: logits [B, ..., A]; values: floats [B, ..., A] above 0 that add
    up to 1; log_prob: their density, [B, ...]; mode: the most probable choice, one-hot; entropy and
    kl: those of the choices, without temperature. The lower the temperature, the harder the choice.
    """

    def __init__(self, temperature: PositiveFloat = 1.0) -> None:
        super().__init__("float32")
        self.temperature = temperature
        if temperature <= 0.0:
            raise ComponentError(
                f"{self.path_or_name}: temperature must be above 0, got {temperature}."
            )

    @api
    @graph_fn(fold_time=True)
    def sample(self, parameters: Tensor) -> Tensor:
        ops = self.ops
        return ops.softmax((parameters + gumbel(ops, parameters)) / self.temperature, -1)

    @api
    @graph_fn(fold_time=True)
    def mode(self, parameters: Tensor) -> Tensor:
        ops = self.ops
        return ops.one_hot(ops.argmax(parameters, -1), int(ops.shape_of(parameters)[-1] or 0))

    @api
    @graph_fn(fold_time=True)
    def log_prob(self, parameters: Tensor, values: Tensor) -> Tensor:
        ops, t = self.ops, self.temperature
        n = int(ops.shape_of(parameters)[-1] or 0)
        logs = ops.log(ops.clip(values, 1e-20, 1.0))
        scores = parameters - t * logs
        constant = math.lgamma(n) + (n - 1) * math.log(t)
        return constant + ops.sum(scores - logs, -1) - n * ops.logsumexp(scores, -1)
