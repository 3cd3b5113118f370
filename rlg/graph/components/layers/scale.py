"""The layer that makes small floats of raw frames."""

from __future__ import annotations

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Space


class Scale(Component):
    """Casts integers to float32 and divides them: uint8 frames come out between 0 and 1.

    inputs: integers of any shape and ranks, nested spaces too; outputs: the same in float32. Bools
    become 0 and 1, whatever the divisor is.
    """

    def __init__(self, divisor: float = 255.0) -> None:
        self.divisor = divisor

    def create_variables(self, *, inputs: Space) -> None:
        if self.divisor == 0:
            raise ComponentError(f"{self.path}: divisor is 0; give another number.")
        kinds = {box.kind for box in inputs.flatten().values()}
        if kinds not in ({"int"}, {"bool"}):
            raise SpaceError(
                f"{self.path}: Scale takes integers, such as uint8 frames, or bools, but `inputs` "
                f"is {inputs}. Leave the layer out where numbers are floats already."
            )
        self._divisor = 1.0 if kinds == {"bool"} else self.divisor

    @api
    @graph_fn(split=True)
    def call(self, inputs: Tensor) -> Tensor:
        return self.ops.cast(inputs, "float32") / self._divisor
