"""The network that fits what an environment shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Component, Static, api
from rlg.graph.components.distributions.joint import at, name_of
from rlg.graph.components.initializers import InitializerSpec
from rlg.graph.components.layers.concat import Concat
from rlg.graph.components.layers.vectors import Vectors, is_vector
from rlg.graph.components.networks.mlp import MLP
from rlg.graph.components.networks.nature_cnn import NatureCNN
from rlg.graph.limits import PositiveInt
from rlg.graph.spaces import Box, Dict, Space, space_from_spec

# The smallest images that a nature_cnn takes.
SMALLEST = 36


class AutoNetwork(Component):
    """A network chosen from the observation space, as Stable-Baselines3 chooses its own.

    | observations | network |
    |---|---|
    | images (bytes, 36 x 36 or more) | a nature_cnn |
    | anything else without images, also nested | an mlp, over one-hot categories and numbers |
    | Dicts and Tuples with images | one part for each leaf, a nature_cnn or a vector; an mlp |

    An agent gives `observation_space`. units, activation: of the mlp; features_dim: of a nature_cnn
    alone, half of it beside other leaves; layer_norm: of all of them. outputs: [B, F], also with
    time.
    """

    def __init__(
        self,
        observation_space: Any = None,
        units: Sequence[PositiveInt] = (64, 64),
        activation: str = "relu",
        features_dim: PositiveInt = 512,
        kernel_init: InitializerSpec | None = None,
        bias_init: InitializerSpec | None = None,
        layer_norm: bool = False,
    ) -> None:
        known = observation_space is not None
        self.observation_space = space_from_spec(observation_space) if known else None
        self.units = list(units)
        self.activation = activation
        self.features_dim = features_dim
        self.kernel_init = kernel_init
        self.bias_init = bias_init
        self.layer_norm = layer_norm
        boxes = {} if self.observation_space is None else self.observation_space.flatten()
        self.paths = list(boxes) if any(map(is_image, boxes.values())) else []
        self.parts = {name_of(path): self._part(boxes[path]) for path in self.paths}
        self.concat = Concat() if len(self.paths) > 1 else None
        self.trunk: Any = None
        if len(self.paths) != 1:
            seen = None if self.paths else self.observation_space
            inits = kernel_init, bias_init
            self.trunk = MLP(self.units, activation, *inits, seen, layer_norm=layer_norm)

    def _part(self, box: Box) -> Component:
        if not is_image(box):
            return Vectors()
        features = self.features_dim if len(self.paths) == 1 else self.features_dim // 2
        inits = self.kernel_init, self.bias_init
        return NatureCNN(features, *inits, layer_norm=self.layer_norm)

    def create_variables(self, *, inputs: Space) -> None:
        if self.observation_space is None:
            raise ComponentError(
                f"{self.path}: observation_space is missing, from which it chooses. Agents give "
                "it; elsewhere write {type: auto, observation_space: ...}, or name another network."
            )

    @api
    def call(self, inputs: Any, update: Static[bool] = False, noise: Static[bool] = False) -> Any:
        if not self.paths:
            return self.trunk.call(inputs, update, noise)
        parts = {name_of(path): at(inputs, path) for path in self.paths}
        features = {name: self.parts[name].call(part) for name, part in parts.items()}
        if self.concat is None:
            return features[name_of(self.paths[0])]
        return self.trunk.call(self.concat.call(features), update, noise)


def is_image(box: Box) -> bool:
    """Whether a leaf is an image that a nature_cnn takes."""
    return box.dtype == "uint8" and len(box.shape) == 3 and min(box.shape[:2]) >= SMALLEST


def for_observations(network: Any, space: Space) -> Any:
    """A network's spec with the observation space put in where `auto` and `mlp` want to know it."""
    spec = {"type": network} if isinstance(network, str) else network
    if not isinstance(spec, Mapping):
        return network
    wants = spec.get("type") == "auto" or (spec.get("type") == "mlp" and not is_vector(space))
    if wants and spec.get("observation_space") is None:
        return {**spec, "observation_space": space}
    if spec.get("network") is not None:  # The features of an `lstm` or a `gru`.
        return {**spec, "network": for_observations(spec["network"], space)}
    parts = spec.get("networks")  # Those of a `multi_input`.
    if isinstance(parts, Mapping) and isinstance(space, Dict) and parts.keys() <= space.keys():
        found = {key: for_observations(part, space[key]) for key, part in parts.items()}
        return {**spec, "networks": found}
    return network
