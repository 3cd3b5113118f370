"""TensorFlow's own queue, which tasks of a cluster share by its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from rlg.graph.spaces import Box

SMALL = 256  # bytes of an element; leaves of larger ones travel alone


class TFQueue:
    """A FIFOQueue of items of these boxes; made where the caller stands, as variables are.

    Between tasks of a cluster each tensor of an item costs a call of its own, so leaves of small
    elements travel as one: their sizes, and then all of their bytes.
    """

    def __init__(self, path: str, capacity: int, boxes: Sequence[Box]) -> None:
        self._shapes = [[*(None for _ in box.ranks), *box.shape] for box in boxes]
        self._dtypes = [tf.as_dtype(box.dtype) for box in boxes]
        with tf.init_scope():
            is_shared = not tf.executing_eagerly()
            sizes = [int(np.prod(box.shape)) * dtype.size for box, dtype in self._each(boxes)]
            small = [n for n, size in enumerate(sizes) if size <= SMALL] if is_shared else []
            self._packed = small if len(small) > 1 else []
            self._alone = [n for n in range(len(boxes)) if n not in self._packed]
            dtypes = [self._dtypes[n] for n in self._alone] + [tf.uint8] * bool(self._packed)
            # Functions have no sessions whose graphs would find it by name.
            shared = path if is_shared else None
            self._queue = tf.queue.FIFOQueue(capacity, dtypes, shared_name=shared, name="queue")

    def _each(self, values: Sequence[Any]) -> Any:
        return zip(values, self._dtypes, strict=True)

    def put(self, leaves: Sequence[Any]) -> None:
        # A tensor may share its memory with an array that was fed, and that changes later.
        item = [tf.raw_ops.DeepCopy(x=leaves[n]) for n in self._alone]
        if self._packed:
            with tf.device(leaves[self._packed[0]].device or None):  # where they are
                item.append(_packed([leaves[n] for n in self._packed]))
        self._queue.enqueue(item)

    def get(self) -> list[Any]:
        found = self._queue.dequeue()
        item = list(found) if isinstance(found, (list, tuple)) else [found]
        leaves = dict(zip(self._alone, item, strict=False))
        if self._packed:
            specs = [(self._dtypes[n], len(self._shapes[n])) for n in self._packed]
            leaves |= zip(self._packed, _unpacked(item[-1], specs), strict=True)
        for n, shape in enumerate(self._shapes):
            leaves[n].set_shape(shape)
        return [leaves[n] for n in range(len(self._shapes))]

    def size(self) -> Any:
        return tf.cast(self._queue.size(), tf.int64)

    def close(self) -> None:
        self._queue.close(cancel_pending_enqueues=True)


def _packed(leaves: Sequence[Any]) -> Any:
    """Tensors as bytes, behind their shapes."""
    sizes = tf.concat([tf.shape(leaf) for leaf in leaves], 0)
    return tf.concat([_bytes(sizes), *map(_bytes, leaves)], 0)


def _bytes(x: Any) -> Any:
    return tf.reshape(tf.cast(x, tf.uint8) if x.dtype == tf.bool else tf.bitcast(x, tf.uint8), [-1])


def _unpacked(data: Any, specs: Sequence[tuple[Any, int]]) -> list[Any]:
    """The tensors of these dtypes and ranks."""
    ranks = [rank for _, rank in specs]
    start = 4 * sum(ranks)
    numbers = tf.bitcast(tf.reshape(data[:start], [-1, 4]), tf.int32)
    shapes = tf.split(numbers, ranks)
    lengths = [tf.reduce_prod(s) * d.size for s, (d, _) in zip(shapes, specs, strict=True)]
    parts = tf.split(data[start:], tf.stack(lengths), num=len(specs))
    return [
        _from_bytes(part, dtype, shape)
        for part, (dtype, _), shape in zip(parts, specs, shapes, strict=True)
    ]


def _from_bytes(data: Any, dtype: Any, shape: Any) -> Any:
    if dtype in (tf.bool, tf.uint8):
        return tf.cast(tf.reshape(data, shape), dtype)
    if dtype.size > 1:
        data = tf.reshape(data, [-1, dtype.size])
    return tf.reshape(tf.bitcast(data, dtype), shape)
