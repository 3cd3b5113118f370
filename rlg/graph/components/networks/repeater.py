"""The same layers several times in a row."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Component, Static, api
from rlg.graph.components.networks.stack import Stack


class RepeaterStack(Component):
    """Feeds its outputs back in, `repeats` times.

    Layers are copied, with variables and initial values of their own, or (`shared`) used again as
    they are. inputs: what the layers take and give.
    """

    def __init__(self, layers: Sequence[Any], repeats: int, shared: bool = False) -> None:
        if repeats < 1:
            raise ComponentError(f"{self.path_or_name}: repeats must be at least 1, got {repeats}.")
        first = Stack(layers)
        self.repeats = repeats
        self.shared = shared
        # Not first.copy(), whose variables start from equal values.
        copies = [] if shared else [copy.deepcopy(first) for _ in range(repeats - 1)]
        self.layers = [first, *copies]

    @api
    def call(self, inputs: Any, update: Static[bool] = False, noise: Static[bool] = False) -> Any:
        for number in range(self.repeats):
            inputs = self.layers[0 if self.shared else number].call(inputs, update, noise)
        return inputs
