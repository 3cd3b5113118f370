"""Preprocessors in a row, and rows of them for the parts of an observation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.components.networks.stack import accepted
from rlg.graph.registry import make
from rlg.graph.spaces import Dict, Space


class PreprocessorStack(Component):
    """Feeds the outputs of each preprocessor to the next one.

    `preprocessors` are components or specs, anything with `call(inputs)`. Those that take `resets`
    (bool [B]: an episode begins) or `update` (whether to learn from these inputs) get them.
    """

    def __init__(self, preprocessors: Sequence[Any]) -> None:
        self.preprocessors = [make(spec) for spec in preprocessors]
        if not self.preprocessors:
            raise ComponentError(f"{self.path_or_name}: it has no preprocessors; give one or more.")

    @api
    def call(self, inputs: Any, resets: Any = None, update: Static[bool] = True) -> Any:
        for part in self.preprocessors:
            inputs = part.call(inputs, **accepted(part, resets=resets, update=update))
        return inputs

    @api
    def reset(self) -> None:
        """Lets those with a memory of the episode forget it."""
        for part in self.preprocessors:
            if "reset" in part.api_methods():
                part.reset()


class DictPreprocessor(Component):
    """Runs entries of a Dict through the preprocessors of their keys; other keys pass through.

    `preprocessors` maps keys to a component, a spec, or a list of them. inputs: a Dict with these
    keys at least; resets, update: as a `preprocessor_stack` takes them.
    """

    def __init__(self, preprocessors: Mapping[str, Any]) -> None:
        self.preprocessors = {key: _stacked(preprocessors[key]) for key in sorted(preprocessors)}
        if not self.preprocessors:
            raise ComponentError(f"{self.path_or_name}: it has no preprocessors; give one or more.")

    def create_variables(self, *, inputs: Space) -> None:
        known = list(inputs.keys()) if isinstance(inputs, Dict) else []
        if missing := [key for key in self.preprocessors if key not in known]:
            raise SpaceError(
                f"{self.path}: there are preprocessors for {', '.join(missing)}, but `inputs` is "
                f"{inputs}. Choose keys among: {', '.join(known) or 'none, as it is not a Dict'}."
            )

    @api
    def call(self, inputs: Any, resets: Any = None, update: Static[bool] = True) -> Any:
        done = {
            key: part.call(inputs[key], **accepted(part, resets=resets, update=update))
            for key, part in self.preprocessors.items()
        }
        return self.merge(inputs, done)

    @graph_fn
    def merge(self, inputs: Tensor, done: Tensor) -> Tensor:
        return {**inputs, **done}

    @api
    def reset(self) -> None:
        """Lets those with a memory of the episode forget it."""
        for part in self.preprocessors.values():
            if "reset" in part.api_methods():
                part.reset()


def _stacked(spec: Any) -> Any:
    return PreprocessorStack(spec) if isinstance(spec, (list, tuple)) else make(spec)
