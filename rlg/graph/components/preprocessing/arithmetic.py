"""Other types, factors and limits for every number."""

from __future__ import annotations

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import DTYPES, Space


class ConvertType(Component):
    """Another dtype for every number; what becomes an integer loses its fraction.

    inputs: any shape and ranks, nested spaces too; outputs: the same in `dtype`.
    """

    def __init__(self, dtype: str = "float32") -> None:
        self.dtype = dtype

    def create_variables(self) -> None:
        if self.dtype not in DTYPES:
            raise ComponentError(
                f"{self.path}: dtype is {self.dtype!r}; use one of {', '.join(DTYPES)}."
            )

    @api
    @graph_fn(split=True)
    def call(self, inputs: Tensor) -> Tensor:
        return self.ops.cast(inputs, self.dtype)


class Multiply(Component):
    """Every number times `factor`. inputs: floats of any shape and ranks, nested spaces too."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def create_variables(self, *, inputs: Space) -> None:
        _check_floats(self, inputs)

    @api
    @graph_fn(split=True)
    def call(self, inputs: Tensor) -> Tensor:
        return inputs * self.factor


class Divide(Component):
    """Every number by `divisor`. inputs: floats of any shape and ranks, nested spaces too."""

    def __init__(self, divisor: float) -> None:
        self.divisor = divisor

    def create_variables(self, *, inputs: Space) -> None:
        if self.divisor == 0:
            raise ComponentError(f"{self.path}: divisor is 0; give another number.")
        _check_floats(self, inputs)

    @api
    @graph_fn(split=True)
    def call(self, inputs: Tensor) -> Tensor:
        return inputs / self.divisor


class Clip(Component):
    """Every number moved into [low, high]. inputs: floats, any shape and ranks, nested too."""

    def __init__(self, low: float, high: float) -> None:
        self.low = low
        self.high = high

    def create_variables(self, *, inputs: Space) -> None:
        if self.low > self.high:
            raise ComponentError(
                f"{self.path}: low is {self.low} and high {self.high}; give a low that is not "
                "above high."
            )
        _check_floats(self, inputs)

    @api
    @graph_fn(split=True)
    def call(self, inputs: Tensor) -> Tensor:
        return self.ops.clip(inputs, self.low, self.high)


def _check_floats(component: Component, inputs: Space) -> None:
    if any(box.kind != "float" for box in inputs.flatten().values()):
        raise SpaceError(
            f"{component.path}: {type(component).__name__} takes floats, but `inputs` is {inputs}. "
            "Put a convert_type before it."
        )
