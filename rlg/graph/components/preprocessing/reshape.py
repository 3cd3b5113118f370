"""Other shapes: given ones, vectors, one-hot categories, batch and time folded."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rlg.errors import SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.layers.vectors import categories, vector
from rlg.graph.spaces import Box, Space, flatten, unflatten


class Reshape(Component):
    """Each item in another shape; batch and time stay. inputs: nested spaces too."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = tuple(shape)

    def create_variables(self, *, inputs: Space) -> None:
        for box in inputs.flatten().values():
            if box.flat_dim != math.prod(self.shape) or not box.ranks:
                raise SpaceError(
                    f"{self.path}: shape is {self.shape}, but `inputs` is {inputs}. Give a shape "
                    f"of {box.flat_dim} numbers, and inputs with a batch rank."
                )

    @api
    @graph_fn(split=True, fold_time=True)
    def call(self, inputs: Tensor) -> Tensor:
        return self.ops.reshape(inputs, (self.ops.batch_size(inputs), *self.shape))


class FlattenOneHot(Component):
    """Makes one float vector of each leaf; categories become one-hot.

    Categories are integers that count from 0 up to a bound, but for bytes, which are numbers as
    floats and booleans are. inputs: any shape, nested spaces too, ranks B, T, BT or TB; outputs:
    float32 [..., F] in the same structure. A `concat` behind it makes one vector of all.
    """

    def create_variables(self, *, inputs: Space) -> None:
        boxes = inputs.flatten()
        if any(not box.ranks for box in boxes.values()):
            raise SpaceError(
                f"{self.path}: FlattenOneHot takes batches, but `inputs` is {inputs}. Give a batch "
                "rank: ranks='B'."
            )
        self._plans = {path: (len(box.shape), categories(box)) for path, box in boxes.items()}

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        outputs = {
            path: vector(self.ops, x, *self._plans[path]) for path, x in flatten(inputs).items()
        }
        return unflatten(outputs, inputs)


class FoldTime(Component):
    """Merges the two leading ranks into one. inputs: [B, T, ...] or [T, B, ...], nested too."""

    def create_variables(self, *, inputs: Space) -> None:
        if any(len(box.ranks) != 2 for box in inputs.flatten().values()):
            raise SpaceError(
                f"{self.path}: FoldTime takes batch and time, but `inputs` is {inputs}. Give it "
                "ranks='BT' or 'TB'."
            )

    @api
    @graph_fn(split=True)
    def call(self, inputs: Tensor) -> Tensor:
        return self.ops.fold_time(inputs)


class UnfoldTime(Component):
    """Gives folded inputs the two leading ranks of `like` back.

    inputs: [F, ...], nested spaces too; like: a tensor [B, T, ...] or [T, B, ...].
    """

    def create_variables(self, *, inputs: Space, like: Space) -> None:
        is_folded = all(box.ranks == "F" for box in inputs.flatten().values())
        if not is_folded or not isinstance(like, Box) or len(like.ranks) != 2:
            raise SpaceError(
                f"{self.path}: UnfoldTime takes folded `inputs` (ranks='F') and `like` with batch "
                f"and time, but they are {inputs} and {like}."
            )

    @api
    @graph_fn(split=True)
    def call(self, inputs: Tensor, like: Tensor) -> Tensor:
        return self.ops.unfold_time(inputs, like)
