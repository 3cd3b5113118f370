"""Sizes while TensorFlow traces: ints where they are static, int64 scalars where they aren't."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from rlg.graph.core.component.ops import Size, Tensor


def axis_size(x: Tensor, axis: int) -> Size:
    """The size of one axis."""
    size = x.shape[axis]
    return tf.shape(x, out_type=tf.int64)[axis] if size is None else size


def sizes_of(x: Tensor) -> list[Size]:
    """The sizes of all axes."""
    return [axis_size(x, axis) for axis in range(len(x.shape))]


def shape_tensor(sizes: Sequence[Size]) -> Any:
    """Sizes as TensorFlow takes them: plain ints if it can be, else one int64 vector."""
    if tf.executing_eagerly() or all(map(_is_static, sizes)):
        return [int(size) for size in sizes]
    return tf.stack([tf.cast(size, tf.int64) for size in sizes])


def reshape(x: Tensor, shape: Sequence[Size]) -> Tensor:
    """A single unknown size becomes -1: TensorFlow then keeps all that is static."""
    static = [size for size in shape if _is_static(size)]
    if len(static) == len(shape) - 1 and -1 not in static:
        shape = [size if _is_static(size) else -1 for size in shape]
    return tf.reshape(x, shape_tensor(shape))


def fold_time(x: Tensor) -> Tensor:
    """Merges the two leading axes."""
    first, second, *rest = sizes_of(x)
    return reshape(x, [first * second, *rest])


def unfold_time(x: Tensor, like: Tensor) -> Tensor:
    """Splits the leading axis into the two leading ones of `like`."""
    return reshape(x, [axis_size(like, 0), axis_size(like, 1), *sizes_of(x)[1:]])


def flatten(x: Tensor, keep: int = 1) -> Tensor:
    """Merges all axes after the first `keep` ones."""
    kept, merged = sizes_of(x)[:keep], 1
    for size in sizes_of(x)[keep:]:
        merged = merged * size
    return reshape(x, [*kept, merged])


def _is_static(size: Size) -> bool:
    return isinstance(size, int | np.integer)
