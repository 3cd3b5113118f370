"""N-step records between single frames, with their first priorities where Q-values are known."""

from __future__ import annotations

from typing import Any

from rlg.errors import SpaceError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.memories.first_priorities import FirstPriorities
from rlg.graph.limits import Fraction, PositiveInt
from rlg.graph.spaces import Box, Dict, FloatBox, IntBox, Space

STEPS = ("actions", "rewards", "terminals", "truncations", "env_ids", "positions")


class FrameTransitions(FirstPriorities):
    """Makes records for FrameReplay of rows of frames and segments of steps between them.

    records: a Dict of `rows`, which pass through, and `steps`, a Dict of `actions`, `rewards`,
    `terminals`, `truncations`, `env_ids` and `positions` (the row of a step's state), time first,
    [T, B]. All steps that begin a whole window become records [N], with `discounts` and `spans`
    (how many rows ahead the next state is) if `n_step` is above 1. `prioritized`: steps have
    `q_values` too; the last n_step steps are not records yet, and |TD errors| [N] come second.
    """

    def __init__(
        self, n_step: PositiveInt = 1, gamma: Fraction = 0.99, prioritized: bool = False
    ) -> None:
        super().__init__(n_step, gamma)
        self.prioritized = prioritized

    @property
    def carried(self) -> int:
        return self.n_step if self.prioritized else self.n_step - 1

    def create_variables(self, *, records: Space) -> None:
        parts = dict(records.items()) if isinstance(records, Dict) else {}
        steps = parts.get("steps")
        boxes = dict(steps.items()) if isinstance(steps, Dict) else {}
        needed = (*STEPS, "q_values") if self.prioritized else STEPS
        is_there = "rows" in parts and all(name in boxes for name in needed)
        if not is_there or any(box.ranks != "TB" for box in boxes.values()):
            raise SpaceError(
                f"{self.path}: `records` is {records}; it takes a Dict of `rows`, and `steps` "
                f"with the keys {', '.join(needed)}, each with ranks='TB'."
            )

    @api
    def call(self, records: Any) -> Any:
        steps = records["steps"]
        ends = steps["terminals"], steps["truncations"]
        windows = self.windows.call(steps["rewards"], *ends)[:4]
        found = self.arrange(records, *windows)
        if not self.prioritized:
            return found
        inputs = steps["q_values"], steps["actions"], steps["truncations"]
        return found, self.priorities(*inputs, *windows)

    def _flat(self, records: Space, **windows: Box) -> Space:
        assert isinstance(records, Dict)
        steps = records["steps"]
        assert isinstance(steps, Dict)
        dropped = ("truncations", "q_values")
        found = {name: box.with_ranks("B") for name, box in steps.items() if name not in dropped}
        if self.n_step > 1:
            found |= {"discounts": FloatBox(), "spans": IntBox(1, self.n_step + 1)}
        return Dict({"rows": records["rows"], **found})

    @graph_fn(spaces=_flat)
    def arrange(
        self,
        records: Tensor,
        sums: Tensor,
        following: Tensor,
        terminals: Tensor,
        discounts: Tensor,
    ) -> Tensor:
        """Rows as they are, and records of the first steps."""
        ops = self.ops
        count = ops.axis_size(sums, 0) - self.carried
        ops.require(
            ops.cast(ops.axis_size(sums, 0), "int64") > self.carried,
            f"{self.path}.call: the segment has {self.carried} steps or fewer. Hand in longer "
            "ones.",
        )
        found = {**records["steps"], "rewards": sums, "terminals": terminals}
        for name in ("truncations", "q_values"):
            found.pop(name, None)
        if self.n_step > 1:
            times = ops.expand_dims(ops.arange(ops.axis_size(sums, 0)), -1)
            found |= {"discounts": discounts, "spans": following - times}
        flat = {name: ops.fold_time(value[:count]) for name, value in found.items()}
        return {"rows": records["rows"], **flat}
