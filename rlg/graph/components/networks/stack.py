"""Layers in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Component, Static, api
from rlg.graph.registry import make


class Stack(Component):
    """Feeds the outputs of each layer to the next one.

    `layers` are components or their specs; anything with `call(inputs)` fits, stacks included.
    `update` and `noise` go to those that take them: with `update` running statistics count these
    inputs in, which only acting with exploration asks for; with `noise` noisy layers draw it, for
    acting with exploration and for learning. Evaluation asks for neither.
    """

    def __init__(self, layers: Sequence[Any]) -> None:
        self.layers = [make(layer) for layer in layers]
        if not self.layers:
            raise ComponentError(f"{self.path_or_name}: it has no layers; give at least one.")

    @api
    def call(self, inputs: Any, update: Static[bool] = False, noise: Static[bool] = False) -> Any:
        for layer in self.layers:
            inputs = layer.call(inputs, **accepted(layer, update=update, noise=noise))
        return inputs


def accepted(part: Any, method: str = "call", **words: Any) -> dict[str, Any]:
    """Those of the keyword arguments that an API method of `part` takes."""
    names = {parameter.name for parameter in part.api_methods()[method].parameters}
    return {name: word for name, word in words.items() if name in names}
