"""Several tensors as one."""

from __future__ import annotations

from rlg.errors import SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Space, flatten


class Concat(Component):
    """Puts the leaves of a container side by side on the last axis, in the order of sorted keys.

    inputs: a Dict or Tuple of tensors of one dtype that differ in the last axis at most; scalars
    count as vectors of one. outputs: [..., sum of the last axes]. Lists come in as Tuples.
    """

    def create_variables(self, *, inputs: Space) -> None:
        boxes = list(inputs.flatten().values())
        kinds = {(box.dtype, box.ranks, len(box.shape), box.shape[:-1]) for box in boxes}
        if not inputs.is_container or len(kinds) > 1:
            raise SpaceError(
                f"{self.path}: Concat takes a Dict or Tuple of tensors that differ in their last "
                f"axis at most, but `inputs` is {inputs}. Put Flatten layers before it."
            )
        self._are_scalars = not boxes[0].shape

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        ops = self.ops
        leaves = list(flatten(inputs).values())
        if self._are_scalars:
            leaves = [ops.expand_dims(leaf, -1) for leaf in leaves]
        return ops.concat(leaves, -1)
