"""Variables and random streams of a built graph from outside: read and overwritten by path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.errors import ExecutionError
from rlg.graph.core.build.builder import Builder
from rlg.spelling import suggestion


class VariableAccess:
    """What an executor offers for weights and checkpoints."""

    @property
    def builder(self) -> Builder:
        """The build behind it."""
        raise NotImplementedError

    def get_weights(
        self, scope: str | None = None, *, trainable: bool | None = True
    ) -> dict[str, NDArray[Any]]:
        """Variables as arrays by scope path; below `scope` only, if given."""
        return {
            path: self.read(info.variable)
            for path, info in self.builder.binding.variables.items()
            if (scope is None or path == scope or path.startswith(f"{scope}/"))
            and (trainable is None or info.trainable == trainable)
        }

    def set_weights(self, weights: Mapping[str, NDArray[Any]]) -> None:
        """Overwrites variables by path; nothing is written unless everything fits."""
        known = self.builder.binding.variables
        for path, value in weights.items():
            if path not in known:
                raise ExecutionError(f"there is no variable {path!r}.{suggestion(path, known)}")
            space, array = known[path].space, np.asarray(value)
            if array.shape != space.shape or array.dtype.name != space.dtype:
                raise ExecutionError(
                    f"{path}: the variable is {space.dtype} {space.shape}, the value "
                    f"{array.dtype.name} {array.shape}."
                )
        for path, value in weights.items():
            self.write(known[path].variable, np.asarray(value))

    def get_state(self) -> dict[str, Any]:
        """Everything that a run goes on from: all variables and the random streams."""
        streams = {path: stream.state for path, stream in self.builder.binding.streams.items()}
        return {"variables": self.get_weights(trainable=None), "streams": streams}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Puts back what `get_state` gave."""
        self.set_weights(state["variables"])
        for path, numbers in state["streams"].items():
            self.builder.binding.streams[path].state = numbers

    # -- what backends do differently -------------------------------------------------------------
    def read(self, variable: Any) -> NDArray[Any]:
        """A copy of a variable's value."""
        raise NotImplementedError

    def write(self, variable: Any, value: NDArray[Any]) -> None:
        """Overwrites a variable."""
        raise NotImplementedError
