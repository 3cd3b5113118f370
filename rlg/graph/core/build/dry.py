"""Dry operations: a backend's own operations with everything that leaves a trace taken out.

Graph functions run on them to show their output spaces. State changes are checked and not made,
random draws are noted and not drawn, gradients are zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from rlg.errors import ComponentError, SpaceError
from rlg.graph.core.component.randomness import UNIFORMS


@dataclass(slots=True)
class Recording:
    """What a dry run noticed."""

    writes: int = 0
    draws: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    gradients: int = 0
    # Reshapes that had to copy: at other sizes, or with other strides, they may be views.
    copies: int = 0


class DryOps:
    """Mixed in before a backend's operations."""

    recording: Recording
    shares_memory: Callable[[Any, Any], bool]

    def reshape(self: Any, x: Any, shape: Sequence[Any]) -> Any:
        return self._note_copy(x, super().reshape(x, shape))  # type: ignore[misc]

    def flatten(self: Any, x: Any, keep: int = 1) -> Any:
        return self._note_copy(x, super().flatten(x, keep))  # type: ignore[misc]

    def fold_time(self: Any, x: Any) -> Any:
        return self._note_copy(x, super().fold_time(x))  # type: ignore[misc]

    def unfold_time(self: Any, x: Any, like: Any) -> Any:
        return self._note_copy(x, super().unfold_time(x, like))  # type: ignore[misc]

    def _note_copy(self, x: Any, result: Any) -> Any:
        self.recording.copies += not self.shares_memory(x, result)
        return result

    def assign(self: Any, variable: Any, value: Any) -> None:
        self._check_write("assign", variable, value, self.shape_of(variable))

    def assign_add(self: Any, variable: Any, value: Any) -> None:
        self._check_write("assign_add", variable, value, self.shape_of(variable))

    def assign_all(self: Any, variables: Sequence[Any], values: Sequence[Any]) -> None:
        for variable, value in zip(variables, values, strict=True):
            self._check_write("assign_all", variable, value, self.shape_of(variable))

    def scatter_rows(self: Any, variable: Any, rows: Any, values: Any) -> None:
        if self.dtype_of(rows) != "int64":
            raise SpaceError(f"scatter_rows takes int64 rows, these are {self.dtype_of(rows)}")
        shape = (*self.shape_of(rows), *self.shape_of(variable)[1:])
        self._check_write("scatter_rows", variable, values, shape)

    def priority_raise(self: Any, largest: Any, errors: Any, epsilon: float, alpha: float) -> Any:
        self.recording.writes += 1
        return self.zeros_like(self.cast(errors, "float64"))

    def priority_set(
        self: Any, sums: Any, mins: Any, rows: Any, values: Any, update: bool = False
    ) -> None:
        if self.dtype_of(rows) != "int64":
            raise SpaceError(f"priority_set takes int64 rows, these are {self.dtype_of(rows)}")
        self._check_write("priority_set", sums, values, self.shape_of(rows))

    def require(self, condition: Any, message: str) -> None:
        """Nothing is true of zeros yet."""

    def _check_write(
        self: Any, what: str, variable: Any, value: Any, shape: tuple[int, ...]
    ) -> None:
        self.recording.writes += 1
        if isinstance(value, (bool, int, float)):
            return
        got, wanted = self.shape_of(value), self.dtype_of(variable)
        if self.dtype_of(value) != wanted:
            raise SpaceError(f"{what}: the value is {self.dtype_of(value)}, the variable {wanted}")
        if got not in ((), tuple(shape)):
            raise SpaceError(
                f"{what}: the value has shape {got}, the variable takes {tuple(shape)}"
            )

    def gradients(self: Any, loss: Any, variables: Mapping[str, Any]) -> dict[str, Any]:
        self.recording.gradients += 1
        if self.shape_of(loss) != ():
            raise SpaceError(
                f"gradients take a scalar loss, this one has shape {self.shape_of(loss)}: use "
                "ops.mean"
            )
        return {name: self.zeros_like(variable) for name, variable in variables.items()}

    def adam(
        self: Any, variables: Sequence[Any], gradients: Sequence[Any], *slots: Any, **settings: Any
    ) -> None:
        for variable, gradient in zip(variables, gradients, strict=True):
            self._check_write("adam", variable, gradient, self.shape_of(variable))

    def variable(self, *args: Any, **kwargs: Any) -> Any:
        raise ComponentError("variables are made in create_variables, not in a graph function")

    def random_uniform(self: Any, shape: Sequence[int], dtype: str = "float32") -> Any:
        return self.full(self._note(UNIFORMS[dtype], shape), 0.5, dtype)

    def random_normal(self: Any, shape: Sequence[int]) -> Any:
        return self.full(self._note("normal", shape), 0.0, "float32")

    def random_rows(self: Any, shape: Sequence[int], high: Any) -> Any:
        return self.zeros(self._note("uniform64", shape), "int64")

    def _note(self, kind: str, shape: Sequence[int]) -> tuple[int, ...]:
        sizes = tuple(int(size) for size in shape)
        self.recording.draws.append((kind, sizes))
        return sizes


@cache
def dry_class(ops_class: type[Any]) -> type[Any]:
    """The dry twin of a backend's operations."""
    return type(f"Dry{ops_class.__name__}", (DryOps, ops_class), {})
