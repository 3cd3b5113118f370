"""Priority trees level by level in TensorFlow's own operations."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rlg.backends import priorities
from rlg.backends.tf import host
from rlg.errors import ExecutionError


class TFPriorities:
    """`priority_set`, `priority_draw` and `require` on tensors."""

    def priority_set(
        self, sums: Any, mins: Any, rows: Any, values: Any, update: bool = False
    ) -> None:
        priorities.set_by_levels(self, sums, mins, rows, values, update)

    def priority_draw(self, sums: Any, prefixes: Any) -> Any:
        return priorities.draw_by_levels(self, sums, prefixes)

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
