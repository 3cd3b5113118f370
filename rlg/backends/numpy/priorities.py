"""Priority trees by compiled kernels, or level by level in NumPy where there is no numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlg.backends import priorities
from rlg.backends.numpy.kernels import compiled, plain
from rlg.errors import ExecutionError


class NumpyPriorities:
    """The operations of prioritized memories on arrays."""

    def priority_raise(self, largest: Any, errors: Any, epsilon: float, alpha: float) -> Any:
        kernels = compiled()
        if kernels is None or errors.dtype != np.float32:
            return priorities.raise_by_parts(self, largest, errors, epsilon, alpha)
        return kernels.raise_(largest, plain(errors), epsilon, alpha)

    def priority_set(
        self, sums: Any, mins: Any, rows: Any, values: Any, update: bool = False
    ) -> None:
        kernels = compiled()
        if kernels is None:
            priorities.set_by_levels(self, sums, mins, rows, values, update)
        else:
            kernels.set(sums, mins, plain(rows), plain(values), update)

    def priority_find(self, sums: Any, prefixes: Any) -> Any:
        kernels = compiled()
        if kernels is None:
            return priorities.find_by_levels(self, sums, prefixes)
        return kernels.find(sums, plain(prefixes), False)[0]

    def priority_draw(self, sums: Any, shares: Any) -> Any:
        kernels = compiled()
        if kernels is None:
            return priorities.draw_by_levels(self, sums, shares)
        return kernels.find(sums, plain(shares), True)

    @staticmethod
    def require(condition: Any, message: str) -> None:
        if not condition:
            raise ExecutionError(message)
