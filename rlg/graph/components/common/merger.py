"""Containers put together."""

from __future__ import annotations

from collections.abc import Sequence

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Space, Tuple


class ContainerMerger(Component):
    """Makes a Dict of the entries of a Tuple, under `keys` in this order.

    inputs: a Tuple of as many entries as there are keys, of any spaces: `merger.call((a, b))`.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = list(keys)
        if not self.keys or len(set(self.keys)) < len(self.keys):
            raise ComponentError(
                f"{self.path_or_name}: keys are {self.keys}; give at least one, and each once."
            )

    def create_variables(self, *, inputs: Space) -> None:
        if not isinstance(inputs, Tuple) or len(inputs) != len(self.keys):
            raise SpaceError(
                f"{self.path}: `inputs` is {inputs}, but there are {len(self.keys)} keys, "
                f"{', '.join(self.keys)}. Give a Tuple with one entry for each."
            )

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        return dict(zip(self.keys, inputs, strict=True))
