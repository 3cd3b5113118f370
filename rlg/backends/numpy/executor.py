"""Runs plans on NumPy: the forward-only reference, and a runtime without a framework."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.backends.entry import Check
from rlg.backends.executor import Entry, GraphExecutor
from rlg.backends.numpy import devices
from rlg.backends.numpy.ops import NumpyOps
from rlg.graph.core.plan.plan import Plan


class NumpyExecutor(GraphExecutor):
    """Executes component graphs on NumPy arrays."""

    name = "numpy"
    ops_class = NumpyOps
    default_device = "cpu"

    def lowering(self) -> Any:
        return SimpleNamespace(
            feeds=False, no_grad=None, cuts=False, transfer=None, place=None, from_host=np.asarray
        )

    def plan_entry(self, plan: Plan, checks: Sequence[Check]) -> Entry:
        function, to_arrays = plan.function, self.to_arrays

        def entry(*args: Any) -> Any:
            values = [check(arg) for check, arg in zip(checks, args, strict=True)]
            try:
                return to_arrays(function(*values))
            except BaseException:
                self.drop_feeds()
                raise

        return entry

    def check_device(self, device: str) -> str:
        return devices.check(device)

    def probing(self) -> Any:
        return np.errstate(all="ignore")  # Zeros have no logarithm, and need none.

    def from_host(self, array: NDArray[Any]) -> Any:
        return array

    def to_host(self, tensor: Any) -> NDArray[Any]:
        return np.asarray(tensor)

    def read(self, variable: Any) -> NDArray[Any]:
        return np.array(variable)

    def write(self, variable: Any, value: NDArray[Any]) -> None:
        variable[...] = value
