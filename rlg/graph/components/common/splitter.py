"""Containers taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Dict, Space, Tuple


class ContainerSplitter(Component):
    """Returns the entries of a Dict or Tuple in the order of `keys`, one output for each.

    inputs: a Dict with these keys, or a Tuple with these positions; others are left out.
    """

    def __init__(self, keys: Sequence[str | int]) -> None:
        self.keys = list(keys)
        if not self.keys:
            raise ComponentError(f"{self.path_or_name}: it has no keys; give at least one.")

    def create_variables(self, *, inputs: Space) -> None:
        known: list[Any] = []
        if isinstance(inputs, (Dict, Tuple)):
            known = list(inputs.keys()) if isinstance(inputs, Dict) else list(range(len(inputs)))
        missing = [key for key in self.keys if key not in known]
        if missing:
            options = ", ".join(map(repr, known)) or "none, as it is not a container"
            raise SpaceError(
                f"{self.path}: `inputs` has no {', '.join(map(repr, missing))}; it is {inputs}. "
                f"Choose keys among: {options}."
            )

    @api
    @graph_fn(outputs=lambda self: len(self.keys))
    def call(self, inputs: Tensor) -> Any:
        values = tuple(inputs[key] for key in self.keys)
        return values if len(values) > 1 else values[0]
