"""N-step transitions from segments of experience, before they go into a memory."""

from __future__ import annotations

from typing import Any, ClassVar

from rlg.errors import SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.memories.n_step import NStep
from rlg.graph.limits import Fraction, PositiveInt
from rlg.graph.spaces import Box, Dict, FloatBox, Space, map_leaves


class NStepTransitions(Component):
    """Makes flat records of all whole windows in a segment: Watkins (1989), as in Ape-X (2018).

    records: a Dict of `rewards`, `terminals`, `truncations`, `next_states` and any others, time
    first, [T, B, ...]. Of T steps the first T - n_step + 1 begin a window that is whole; the last
    n_step - 1 begin the next segment again. Returns [N, ...]: sums as `rewards`, the state after
    the window as `next_states`, gamma^k as `discounts`, and the others of the window's first step;
    truncations have done their work. It lives on the host, as the memories behind it do.
    """

    on_host = True
    # Keys of `records` that there must be, and those that are not part of what comes out.
    needed: ClassVar[tuple[str, ...]] = ("rewards", "terminals", "truncations", "next_states")
    dropped: ClassVar[tuple[str, ...]] = ("truncations",)

    def __init__(self, n_step: PositiveInt = 3, gamma: Fraction = 0.99) -> None:
        self.n_step = n_step
        self.gamma = gamma
        self.windows = NStep(n_step, gamma)

    @property
    def carried(self) -> int:
        """The last steps of a segment, which are not records yet and come again."""
        return self.n_step - 1

    def create_variables(self, *, records: Space) -> None:
        boxes = dict(records.items()) if isinstance(records, Dict) else {}
        missing = [name for name in self.needed if name not in boxes]
        if missing or any(box.ranks != "TB" for box in records.flatten().values()):
            raise SpaceError(
                f"{self.path}: `records` is {records}; it takes a Dict of segments with the keys "
                f"{', '.join(self.needed)}, each with ranks='TB'."
            )

    @api
    def call(self, records: Any) -> Any:
        ends = records["terminals"], records["truncations"]
        sums, following, terminals, discounts, _ = self.windows.call(records["rewards"], *ends)
        return self.arrange(records, sums, following, terminals, discounts)

    def _flat(self, records: Space, **windows: Box) -> Space:
        """Declared: a dry run's segments are shorter than long windows."""
        assert isinstance(records, Dict)
        names = [name for name in records if name not in self.dropped]
        kept = {name: records[name].with_ranks("B") for name in names}
        return Dict({**kept, "discounts": FloatBox()})

    @graph_fn(spaces=_flat)
    def arrange(
        self,
        records: Tensor,
        sums: Tensor,
        following: Tensor,
        terminals: Tensor,
        discounts: Tensor,
    ) -> Tensor:
        """Records of the whole windows."""
        ops = self.ops
        n = ops.axis_size(sums, 1)
        starts = ops.axis_size(sums, 0) - self.carried
        ops.require(
            ops.constant(starts > 0, "bool"),
            f"{self.path}.call: the segment has fewer than {self.carried + 1} steps. Hand in "
            "longer ones.",
        )
        found = {**records, "rewards": sums, "terminals": terminals, "discounts": discounts}
        following_states = found.pop("next_states")
        for name in self.dropped:
            del found[name]
        # A window's last state lies among the records of its last step.
        rows = ops.fold_time((following[:starts] - 1) * n + ops.arange(n))
        return {
            **{
                name: map_leaves(lambda x: ops.fold_time(x[:starts]), value)
                for name, value in found.items()
            },
            "next_states": map_leaves(
                lambda x: ops.take_rows(ops.fold_time(x), rows), following_states
            ),
        }
