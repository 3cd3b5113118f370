"""Containers put together."""

from __future__ import annotations

from collections.abc import Sequence

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Space, Tuple, unflatten


class ContainerMerger(Component):
    """Makes a Dict of the entries of a Tuple, under `keys` in this order.

    inputs: a Tuple of as many entries as there are keys, of any spaces: `merger.call((a, b))`. A
    key with slashes is a place in a nested Dict: `camera/left`, `camera/right`.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = list(keys)
        if not self.keys or len(set(self.keys)) < len(self.keys):
            raise ComponentError(
                f"{self.path_or_name}: keys are {self.keys}; give at least one, and each once."
            )
        self._paths = [tuple(key.split("/")) for key in self.keys]
        unflatten(dict.fromkeys(self._paths))  # Refuses a key that passes through another.

    def create_variables(self, *, inputs: Space) -> None:
        if not isinstance(inputs, Tuple) or len(inputs) != len(self.keys):
            raise SpaceError(
                f"{self.path}: `inputs` is {inputs}, but there are {len(self.keys)} keys, "
                f"{', '.join(self.keys)}. Give a Tuple with one entry for each."
            )

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        # Entries may be nested themselves: they stay as they are.
        return unflatten(dict(zip(self._paths, inputs, strict=True)))
