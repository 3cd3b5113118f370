"""Layers in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Component, api
from rlg.graph.registry import make


class Stack(Component):
    """Feeds the outputs of each layer to the next one.

    `layers` are components or their specs; anything with `call(inputs)` fits, stacks included.
    """

    def __init__(self, layers: Sequence[Any]) -> None:
        self.layers = [make(layer) for layer in layers]
        if not self.layers:
            raise ComponentError(f"{self.path_or_name}: it has no layers; give at least one.")

    @api
    def call(self, inputs: Any) -> Any:
        for layer in self.layers:
            inputs = layer.call(inputs)
        return inputs
