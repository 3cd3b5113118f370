"""What all distributions share."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlg.errors import ComponentError
from rlg.graph import Component, Tensor, api
from rlg.graph.core.component.ops import Ops, Size


class Distribution(Component):
    """The API of a distribution; all of it is also for batches with time.

    sample(parameters), mode(parameters), log_prob(parameters, values), entropy(parameters),
    kl(parameters, other): KL(parameters || other), and sample_log_prob(parameters).
    """

    @api
    def sample_log_prob(self, parameters: Any) -> Any:
        """A draw and its log-probability."""
        values = self.sample(parameters)
        return values, self.log_prob(parameters, values)


class Bounded(Distribution):
    """A distribution over the open interval from `low` to `high`.

    Both are numbers, or nested lists with one number for each element of a value.
    """

    def __init__(self, low: Any = -1.0, high: Any = 1.0) -> None:
        self.low = low
        self.high = high

    def create_variables(self) -> None:
        low, high = np.asarray(self.low, "float64"), np.asarray(self.high, "float64")
        if not ((low < high).all() and (high - low < np.finfo("float32").max).all()):
            raise ComponentError(
                f"{self.path}: the bounds are {self.low} and {self.high}; give finite ones with "
                "low < high, or use a normal distribution ({type: action_head, bounded: normal})."
            )

    def _bounds(self) -> tuple[Tensor, Tensor]:
        low, high = np.asarray(self.low, "float32"), np.asarray(self.high, "float32")
        return self.ops.constant(low, "float32"), self.ops.constant(high, "float32")

    def _inside(self, values: Tensor) -> Tensor:
        """Undoes rounding across a bound."""
        low, high = self._bounds()
        return self.ops.minimum(self.ops.maximum(values, low), high)


def shape_like(ops: Ops, x: Tensor) -> tuple[Size, ...]:
    """The shape of draws for each element of a batch."""
    return ops.batch_size(x), *ops.shape_of(x)[1:]
