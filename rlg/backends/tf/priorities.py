"""Priority trees level by level in TensorFlow's own operations."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rlg.backends import priorities
from rlg.backends.tf import host
from rlg.errors import ExecutionError


class TFPriorities:
    """The operations of prioritized memories on tensors."""

    def priority_raise(self, largest: Any, errors: Any, epsilon: float, alpha: float) -> Any:
        return priorities.raise_by_parts(self, largest, errors, epsilon, alpha)

    def priority_set(
        self, sums: Any, mins: Any, rows: Any, values: Any, update: bool = False
    ) -> None:
        priorities.set_by_levels(self, sums, mins, rows, values, update)

    def priority_find(self, sums: Any, prefixes: Any) -> Any:
        return priorities.find_by_levels(self, sums, prefixes)

    def priority_draw(self, sums: Any, shares: Any) -> Any:
        return priorities.draw_by_levels(self, sums, shares)

    @staticmethod
    def require(condition: Any, message: str) -> None:
        def refuse() -> None:
            raise ExecutionError(message)

        if tf.executing_eagerly():
            if not condition:
                refuse()
            return

        # The branch is a Python call that only a failure makes.
        tf.cond(
            condition, lambda: tf.constant(True), lambda: host.call(refuse, [], [("bool", ())])[0]
        )
