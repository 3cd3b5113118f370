"""What a golden is: a spec, the spaces to build it from, and the calls to make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rlg.graph import Component
from rlg.graph.registry import make


@dataclass(frozen=True)
class Golden:
    """A spec, the spaces to build it from, and calls to make (default: every API method once)."""

    name: str
    spec: Mapping[str, Any]
    spaces: Mapping[str, Any] = field(default_factory=dict)
    # API methods in order, with static arguments: ("sample", {"n": 4}); inputs are sampled.
    calls: Sequence[tuple[str, Mapping[str, Any]]] | None = None
    # Puts the component into another one, where it can't be a root: optimizers take variables.
    wrap: Callable[[Any], Component] | None = None

    def make(self) -> Any:
        """A new component, alone or in what it needs around it."""
        component = make(dict(self.spec))
        return component if self.wrap is None else self.wrap(component)
