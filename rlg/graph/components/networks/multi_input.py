"""One network for each part of an observation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Static, api
from rlg.graph.components.layers.concat import Concat
from rlg.graph.components.networks.stack import accepted
from rlg.graph.registry import make
from rlg.graph.spaces import Dict, Space


class MultiInput(Component):
    """Runs each entry of a Dict through the network of its key; what comes out is concatenated.

    `networks` maps keys to components or specs that give vectors; a `trunk`, if given, goes over
    all of them together. inputs: a Dict of these keys; outputs: [B, F], also with time; update
    and noise: as a `stack` takes them.
    """

    def __init__(self, networks: Mapping[str, Any], trunk: Any = None) -> None:
        self.networks = {key: make(networks[key]) for key in sorted(networks)}
        self.trunk = None if trunk is None else make(trunk)
        self.concat = Concat()
        if not self.networks:
            raise ComponentError(f"{self.path_or_name}: it has no networks; give one for each key.")

    def create_variables(self, *, inputs: Space) -> None:
        known = set(inputs.keys()) if isinstance(inputs, Dict) else set()
        if known != self.networks.keys():
            raise SpaceError(
                f"{self.path}: there are networks for {', '.join(self.networks)}, but `inputs` is "
                f"{inputs}. Give one network for each of its keys."
            )

    @api
    def call(self, inputs: Any, update: Static[bool] = False, noise: Static[bool] = False) -> Any:
        parts = {
            key: network.call(inputs[key], **accepted(network, update=update, noise=noise))
            for key, network in self.networks.items()
        }
        features = self.concat.call(parts)
        if self.trunk is None:
            return features
        return self.trunk.call(features, **accepted(self.trunk, update=update, noise=noise))
