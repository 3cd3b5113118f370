"""The number of a learner's weights, which other processes see."""

from __future__ import annotations

from typing import Any

from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import IntBox, Space


class Version(Component):
    """A count of updates, int64; -1 until the learner has published its weights."""

    variable_kind = "shared"

    def create_variables(self) -> None:
        self._number = self.variable("number", dtype="int64", value=-1)

    def _scalar(self, **_: Any) -> Space:
        return IntBox(ranks="")

    @api
    @graph_fn(spaces=_scalar)
    def value(self) -> Tensor:
        return self.ops.value_of(self._number)

    @api
    @graph_fn
    def publish(self, number: Tensor) -> None:
        """The weights of this moment have this number: whoever waits for them may begin."""
        self.ops.assign(self._number, number)

    @api
    @graph_fn
    def count(self) -> None:
        """One update more."""
        self.ops.assign_add(self._number, self.ops.constant(1, "int64"))
