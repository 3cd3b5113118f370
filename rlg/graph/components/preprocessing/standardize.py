"""Numbers by the mean and the variance of all that came before."""

from __future__ import annotations

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.limits import PositiveFloat
from rlg.graph.spaces import Space, flatten, path_name, unflatten


class MovingStandardize(Component):
    """Subtracts the running mean, divides by the running deviation, and clips to [-clip, clip].

    The moments are those of all rows so far, this call's included, each element on its own, merged
    batch by batch as Chan et al. (1979) do; they are float64 variables. update=False leaves them
    alone (evaluation). inputs: floats, any shape and ranks, nested spaces too; outputs: float32.
    """

    def __init__(self, clip: float = 10.0, epsilon: PositiveFloat = 1e-8) -> None:
        self.clip = clip
        self.epsilon = epsilon

    def create_variables(self, *, inputs: Space) -> None:
        if self.clip <= 0.0 or self.epsilon <= 0.0:
            raise ComponentError(
                f"{self.path}: clip is {self.clip} and epsilon {self.epsilon}; give both above 0."
            )
        boxes = inputs.flatten()
        if any(box.kind != "float" for box in boxes.values()):
            raise SpaceError(
                f"{self.path}: MovingStandardize takes floats, but `inputs` is {inputs}. Put a "
                "convert_type before it."
            )
        self._moments = {}
        for path, box in boxes.items():
            lead = f"{path_name(path)}/" if path else ""
            self._moments[path] = (
                self.variable(f"{lead}count", dtype="float64"),
                self.variable(f"{lead}mean", box.shape, dtype="float64"),
                self.variable(f"{lead}variance", box.shape, dtype="float64", value=1.0),
            )

    @api
    @graph_fn
    def call(self, inputs: Tensor, update: Static[bool] = True) -> Tensor:
        ops, outputs = self.ops, {}
        for path, x in flatten(inputs).items():
            count, mean, variance = self._moments[path]
            wide = ops.cast(x, "float64")
            if update:
                mean, variance = self._merge(wide, count, mean, variance)
            scaled = (wide - mean) / ops.sqrt(variance + self.epsilon)
            outputs[path] = ops.cast(ops.clip(scaled, -self.clip, self.clip), "float32")
        return unflatten(outputs, inputs)

    @api
    @graph_fn
    def count(self, inputs: Tensor) -> None:
        """Counts these rows in, and nothing else."""
        for path, x in flatten(inputs).items():
            self._merge(self.ops.cast(x, "float64"), *self._moments[path])

    def _merge(
        self, x: Tensor, count: Tensor, mean: Tensor, variance: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Counts the rows of `x` in; the new mean and variance."""
        ops = self.ops
        ranks = len(ops.shape_of(x)) - len(ops.shape_of(mean))
        rows = ops.fold_time(x) if ranks == 2 else x if ranks else ops.expand_dims(x, 0)
        n = ops.cast(ops.batch_size(rows), "float64")
        batch_mean = ops.mean(rows, 0)
        batch_variance = ops.mean(ops.square(rows - batch_mean), 0)
        total = count + n
        step = batch_mean - mean
        new_mean = mean + step * (n / total)
        squares = variance * count + batch_variance * n + ops.square(step) * (count * n / total)
        new_variance = squares / total
        ops.assign(count, total)
        ops.assign(mean, new_mean)
        ops.assign(variance, new_variance)
        return new_mean, new_variance
