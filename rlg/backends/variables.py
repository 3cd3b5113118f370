"""Variables and random streams of a built graph from outside: read and overwritten by path.

State is strict: what is loaded must have exactly the variables that are asked for, in their shapes,
or nothing is written. A column that an old checkpoint lacks would otherwise stay at zeros, and
learning would be wrong without a word. Parts are loaded by naming them: kinds, scopes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.backends.channel import Channel
from rlg.errors import ExecutionError
from rlg.graph.core.build.binding import KINDS, Queue, VariableInfo
from rlg.graph.core.build.builder import Builder
from rlg.graph.spaces import Box
from rlg.spelling import suggestion

Names = str | Collection[str] | None


class VariableAccess:
    """What an executor offers for weights and checkpoints."""

    @property
    def builder(self) -> Builder:
        """The build behind it."""
        raise NotImplementedError

    def kinds(self) -> dict[str, str]:
        """The kind of each variable by path: weight, statistic, slot, record or env."""
        return {path: info.kind for path, info in self.builder.binding.variables.items()}

    def nbytes(self, kinds: Names = None) -> int:
        """What variables take in memory, without reading them."""
        spaces = [info.space for info in self._selected(kinds, None).values()]
        return sum(space.flat_dim * np.dtype(space.dtype).itemsize for space in spaces)

    def get_variables(self, kinds: Names = None, scope: Names = None) -> dict[str, NDArray[Any]]:
        """Copies of all variables by path; of these kinds and below these scopes, if given."""
        return self._read(self._selected(kinds, scope))

    def set_variables(
        self, values: Mapping[str, NDArray[Any]], kinds: Names = None, scope: Names = None
    ) -> None:
        """Overwrites what `get_variables` returns for the same arguments, all of it or nothing."""
        self._write(values, self._selected(kinds, scope), "the variables")

    def get_weights(
        self, scope: Names = None, *, trainable: bool | None = True
    ) -> dict[str, NDArray[Any]]:
        """Trainable variables by path (with None all of them); below `scope` only, if given."""
        return self._read(self._trainable(scope, trainable))

    def set_weights(
        self,
        weights: Mapping[str, NDArray[Any]],
        scope: Names = None,
        *,
        trainable: bool | None = True,
        partial: bool = False,
    ) -> None:
        """Overwrites what `get_weights` returns for the same arguments, all of it or nothing.

        With `partial` any variables may be given, and the others stay.
        """
        expected = self._trainable(scope, trainable)
        if partial:
            known = self.builder.binding.variables
            for path in weights:
                if path not in known:
                    raise ExecutionError(f"there is no variable {path!r}.{suggestion(path, known)}")
            expected = {path: known[path] for path in weights}
        self._write(weights, expected, "the weights")

    def get_state(self, kinds: Names = None) -> dict[str, Any]:
        """What a run resumes from: variables (of these kinds, if given) and random streams."""
        streams = {path: stream.state for path, stream in self.builder.binding.streams.items()}
        return {"variables": self.get_variables(kinds), "streams": streams}

    def set_state(self, state: Mapping[str, Any], kinds: Names = None) -> None:
        """Puts back what `get_state` returned for the same kinds, all of it or nothing."""
        streams = self.builder.binding.streams
        _check_names("the random streams", state["streams"], streams)
        self._write(state["variables"], self._selected(kinds, None), "the variables of the state")
        for path, numbers in state["streams"].items():
            streams[path].state = numbers

    # -- selection and checks ---------------------------------------------------------------------
    def _selected(self, kinds: Names, scope: Names) -> dict[str, VariableInfo]:
        wanted = KINDS if kinds is None else (kinds,) if isinstance(kinds, str) else kinds
        for kind in wanted:
            if kind not in KINDS:
                raise ExecutionError(
                    f"there is no kind of variables {kind!r}.{suggestion(kind, KINDS)} Kinds: "
                    f"{', '.join(KINDS)}."
                )
        scopes = (scope,) if isinstance(scope, str) else scope
        return {
            path: info
            for path, info in self.builder.binding.variables.items()
            if info.kind in wanted
            and (scopes is None or any(path == s or path.startswith(f"{s}/") for s in scopes))
        }

    def _trainable(self, scope: Names, trainable: bool | None) -> dict[str, VariableInfo]:
        found = self._selected(None, scope)
        return {path: i for path, i in found.items() if trainable in (None, i.trainable)}

    def _read(self, found: Mapping[str, VariableInfo]) -> dict[str, NDArray[Any]]:
        values = self.read_all([info.variable for info in found.values()])
        return dict(zip(found, values, strict=True))

    def _write(
        self, values: Mapping[str, Any], expected: Mapping[str, VariableInfo], what: str
    ) -> None:
        _check_names(what, values, expected)
        arrays = {path: np.asarray(value) for path, value in values.items()}
        for path, array in arrays.items():
            space = expected[path].space
            if array.shape != space.shape or array.dtype.name != space.dtype:
                raise ExecutionError(
                    f"{path}: the variable is {space.dtype} {space.shape}, the value "
                    f"{array.dtype.name} {array.shape}."
                )
        self.write_all([(expected[path].variable, array) for path, array in arrays.items()])

    # -- what backends do differently -------------------------------------------------------------
    def read(self, variable: Any) -> NDArray[Any]:
        """A copy of a variable's value."""
        raise NotImplementedError

    def write(self, variable: Any, value: NDArray[Any]) -> None:
        """Overwrites a variable."""
        raise NotImplementedError

    def make_queue(self, path: str, boxes: Sequence[Box], capacity: int) -> Queue:
        """A queue of items with one tensor for each box: between threads of this process."""
        return Channel(path, capacity, self.kept, lambda n: self.from_host(np.array(n, np.int64)))

    def kept(self, tensor: Any) -> Any:
        """A copy, which later calls don't change."""
        return np.array(tensor)

    def from_host(self, array: Any) -> Any:
        """An array as a tensor of this backend."""
        raise NotImplementedError

    def read_all(self, variables: Sequence[Any]) -> list[NDArray[Any]]:
        """Copies of the values of several variables."""
        return [self.read(variable) for variable in variables]

    def write_all(self, values: Sequence[tuple[Any, NDArray[Any]]]) -> None:
        """Overwrites several variables."""
        for variable, value in values:
            self.write(variable, value)


def _check_names(what: str, given: Collection[str], expected: Collection[str]) -> None:
    missing = [path for path in expected if path not in given]
    extra = [path for path in given if path not in expected]
    if missing or extra:
        words = [f"missing: {_listed(missing)}"] if missing else []
        words += [f"not in this graph: {_listed(extra)}"] if extra else []
        hint = suggestion(extra[0], missing) if extra and missing else ""
        raise ExecutionError(f"{what} don't fit, {'; '.join(words)}.{hint}")


def _listed(paths: list[str], most: int = 4) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more
