"""A part of one axis."""

from __future__ import annotations

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Box, Space


class Slice(Component):
    """Takes inputs[start:stop] along `axis`; `squeeze` takes one element and drops the axis.

    Axes count from 0, batch and time included. A batch or time rank that is sliced stays a rank;
    squeezed, it is gone: Slice(start=-1, squeeze=True) is the last step of time-major inputs.
    """

    def __init__(
        self, start: int = 0, stop: int | None = None, axis: int = 0, squeeze: bool = False
    ) -> None:
        self.start = start
        self.stop = stop
        self.axis = axis
        self.squeeze = squeeze

    def create_variables(self, *, inputs: Space) -> None:
        if self.squeeze and self.stop not in (None, self.start + 1):
            raise ComponentError(
                f"{self.path}: squeeze drops an axis of one element, but "
                f"[{self.start}:{self.stop}] has others. Leave stop out, or say squeeze=False."
            )
        sizes = [*inputs.ranks, *inputs.shape] if isinstance(inputs, Box) else []
        if not 0 <= self.axis < len(sizes):
            raise SpaceError(
                f"{self.path}: axis is {self.axis}, but `inputs` is {inputs}. Give an axis from "
                "0 on that a tensor of this space has."
            )
        size, stop = sizes[self.axis], None if self.squeeze else self.stop
        if isinstance(size, int) and not range(size)[self.start : stop]:
            raise SpaceError(
                f"{self.path}: [{self.start}:{stop}] of axis {self.axis} is empty, as `inputs` is "
                f"{inputs}. Give a start and a stop within its {size} elements."
            )

    def _spaces(self, inputs: Box) -> Box:
        """Declared: a dry run would take a sliced rank for a fixed size."""
        ranks, shape = list(inputs.ranks), list(inputs.shape)
        place = self.axis - len(ranks)
        if place < 0:
            if self.squeeze:
                del ranks[self.axis]
        else:
            left = range(shape[place])[self._part()]
            shape[place : place + 1] = [] if isinstance(left, int) else [len(left)]
        return Box(tuple(shape), inputs.dtype, ranks="".join(ranks))

    def _part(self) -> slice | int:
        return self.start if self.squeeze else slice(self.start, self.stop)

    @api
    @graph_fn(spaces=_spaces)
    def call(self, inputs: Tensor) -> Tensor:
        return inputs[(*(slice(None) for _ in range(self.axis)), self._part())]
