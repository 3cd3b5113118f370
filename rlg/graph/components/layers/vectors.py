"""From whatever an environment shows to one vector."""

from __future__ import annotations

from typing import Any

from rlg.errors import SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.core.component.ops import Ops
from rlg.graph.spaces import Box, Path, Space, flatten


class Vectors(Component):
    """Puts all leaves of an observation side by side as one float vector; vectors stay as they are.

    | leaf | numbers |
    |---|---|
    | integers that count from 0 up to a bound: IntBox(16), IntBox([3, 5], shape=(2,)) | one-hot |
    | bytes | divided by 255 |
    | floats, booleans, bits (int8 of 0 and 1), other integers | as they are |

    inputs: any space, also nested, ranks B, BT or TB; outputs: [..., F], leaves by sorted keys.
    """

    def create_variables(self, *, inputs: Space) -> None:
        boxes = inputs.flatten()
        if len({box.ranks for box in boxes.values()} | {""}) != 2:
            raise SpaceError(
                f"{self.path}: it takes batches, but `inputs` is {inputs}. Give all leaves the "
                "same ranks: ranks='B'."
            )
        self._is_vector = is_vector(inputs)
        self._leaves = {
            path: (len(box.shape), None if _is_bits(box) else categories(box))
            for path, box in boxes.items()
        }

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        if self._is_vector:
            return inputs
        parts = [self._vector(path, x) for path, x in flatten(inputs).items()]
        return self.ops.concat(parts, -1) if len(parts) > 1 else parts[0]

    def _vector(self, path: Path, x: Tensor) -> Tensor:
        numbers = vector(self.ops, x, *self._leaves[path])
        return numbers / 255.0 if self.ops.dtype_of(x) == "uint8" else numbers


def is_vector(space: Space) -> bool:
    """Whether there is nothing to do."""
    return isinstance(space, Box) and space.kind == "float" and len(space.shape) == 1


def vector(ops: Ops, x: Tensor, axes: int, counts: list[int] | int | None) -> Tensor:
    """Floats [..., F] of the last `axes` axes; one-hot where there are `counts` of categories."""
    keep = len(ops.shape_of(x)) - axes
    if counts is None:
        return ops.flatten(ops.cast(x, "float32"), keep)
    if isinstance(counts, int):
        return ops.flatten(ops.one_hot(x, counts), keep)
    x = ops.flatten(x, keep)
    return ops.concat([ops.one_hot(x[..., i], n) for i, n in enumerate(counts)], -1)


def categories(box: Box) -> list[int] | int | None:
    """How many there are: one number for all elements, or one for each; None: they are numbers."""
    known: Any = box.num_categories
    if known is None or box.dtype == "uint8":
        return None
    return known if isinstance(known, int) else list(flatten(known).values())


def _is_bits(box: Box) -> bool:
    return box.dtype == "int8" and box.num_categories == 2
