"""Priority trees by compiled kernels, or level by level in NumPy where there is no numba."""

from __future__ import annotations

from typing import Any

from rlg.backends import priorities
from rlg.backends.numpy.kernels import compiled, plain
from rlg.errors import ExecutionError


class NumpyPriorities:
    """`priority_set`, `priority_draw` and `require` on arrays."""

    def priority_set(
        self, sums: Any, mins: Any, rows: Any, values: Any, update: bool = False
    ) -> None:
        kernels = compiled()
        if kernels is None:
            priorities.set_by_levels(self, sums, mins, rows, values, update)
        else:
            kernels.set(sums, mins, plain(rows), plain(values), update)

    def priority_draw(self, sums: Any, prefixes: Any) -> Any:
        kernels = compiled()
        if kernels is None:
            return priorities.draw_by_levels(self, sums, prefixes)
        return kernels.draw(sums, plain(prefixes))

    @staticmethod
    def require(condition: Any, message: str) -> None:
        if not condition:
            raise ExecutionError(message)
