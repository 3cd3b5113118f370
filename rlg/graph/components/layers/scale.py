"""The layer that makes small floats of raw frames."""

from __future__ import annotations

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Space


class Scale(Component):
    """Casts integers to float32, subtracts `offset` and divides.

    inputs: integers of any shape and ranks, nested spaces too; outputs: the same in float32. By
    default uint8 frames come out between 0 and 1. Bools become 0 and 1, whatever offset and divisor
    are.
    """

    def __init__(self, divisor: float = 255.0, offset: float = 0.0) -> None:
        self.divisor = divisor
        self.offset = offset

    def create_variables(self, *, inputs: Space) -> None:
        if self.divisor == 0:
            raise ComponentError(f"{self.path}: divisor is 0; give another number.")
        kinds = {box.kind for box in inputs.flatten().values()}
        if kinds not in ({"int"}, {"bool"}):
            raise SpaceError(
                f"{self.path}: Scale takes integers, such as uint8 frames, or bools, but `inputs` "
                f"is {inputs}. Leave the layer out where numbers are floats already."
            )
        is_bool = kinds == {"bool"}
        self._divisor, self._offset = (1.0, 0.0) if is_bool else (self.divisor, self.offset)

    @api
    @graph_fn(split=True)
    def call(self, inputs: Tensor) -> Tensor:
        numbers = self.ops.cast(inputs, "float32")
        return (numbers - self._offset if self._offset else numbers) / self._divisor
