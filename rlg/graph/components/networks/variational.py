"""Autoencoders whose code is a distribution."""

from __future__ import annotations

from typing import Any

from rlg.errors import SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.distributions.normal import DiagNormal, normal_draw
from rlg.graph.components.layers.dense import Dense
from rlg.graph.limits import NonNegativeFloat, PositiveInt
from rlg.graph.registry import make
from rlg.graph.spaces import Box, Space


class VariationalAutoencoder(Component):
    """Encodes inputs as a normal distribution of `latent` numbers: Kingma and Welling (2014).

    inputs: float vectors [B, F]; encoder, decoder: networks [B, F] -> [B, any]. `call` draws a code
    and decodes it, [B, F]; `encode` returns the code's {mean, log_std}, [B, latent]; `decode` takes
    a code. `loss` is the squared error of the decoded inputs, 0.5 * its sum over F, plus
    `kl_weight` times the divergence from a standard normal: their mean and the loss of each item.
    """

    def __init__(
        self,
        latent: PositiveInt = 8,
        encoder: Any = "mlp",
        decoder: Any = "mlp",
        kl_weight: NonNegativeFloat = 1.0,
    ) -> None:
        self.latent = latent
        self.kl_weight = kl_weight
        self.encoder = make(encoder)
        self.decoder = make(decoder)
        self.mean = Dense(latent)
        self.log_std = Dense(latent)
        self.output = Imitation()
        self.distribution = DiagNormal()

    @api
    def call(self, inputs: Any) -> Any:
        code = self.code_of(self.encode(inputs))
        return self.output.call(self.decoder.call(code), inputs)

    @api
    def encode(self, inputs: Any) -> Any:
        features = self.encoder.call(inputs)
        return self.parameters(self.mean.call(features), self.log_std.call(features))

    @api
    def decode(self, code: Any) -> Any:
        return self.output.call(self.decoder.call(code))

    @api
    def loss(self, inputs: Any) -> Any:
        parameters = self.encode(inputs)
        decoded = self.output.call(self.decoder.call(self.code_of(parameters)), inputs)
        divergence = self.distribution.kl(parameters, self.standard(parameters))
        return self.total(inputs, decoded, divergence)

    @graph_fn
    def parameters(self, mean: Tensor, log_std: Tensor) -> Tensor:
        return {"mean": mean, "log_std": log_std}

    @graph_fn
    def code_of(self, parameters: Tensor) -> Tensor:
        """A draw that gradients flow through."""
        return normal_draw(self.ops, parameters)

    @graph_fn
    def standard(self, parameters: Tensor) -> Tensor:
        zeros = self.ops.zeros_like(parameters["mean"])
        return {"mean": zeros, "log_std": zeros + 0.0}

    @graph_fn
    def total(self, inputs: Tensor, decoded: Tensor, divergence: Tensor) -> tuple[Tensor, Tensor]:
        ops = self.ops
        items = 0.5 * ops.sum(ops.square(decoded - inputs), -1) + self.kl_weight * divergence
        return ops.mean(items), items


class Imitation(Dense):
    """The linear layer at the end of a decoder: as many numbers as `like`, [B, F], has."""

    def __init__(self) -> None:
        super().__init__(1)

    def create_variables(self, *, inputs: Space, like: Space) -> None:  # type: ignore[override]
        if not isinstance(like, Box) or like.kind != "float" or len(like.shape) != 1:
            raise SpaceError(
                f"{self.path}: it decodes float vectors, but what was encoded is {like}. Put a "
                "flatten layer before the autoencoder."
            )
        self.units = like.shape[0]
        super().create_variables(inputs=inputs)

    @api
    @graph_fn(fold_time=True)
    def call(self, inputs: Tensor, like: Tensor | None = None) -> Tensor:
        return self.ops.addmm(self._bias, inputs, self._kernel)
