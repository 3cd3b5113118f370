"""TensorFlow's own queue, which tasks of a cluster share by its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from rlg.graph.spaces import Box


class TFQueue:
    """A FIFOQueue of items of these boxes; made where the caller stands, as variables are."""

    def __init__(self, path: str, capacity: int, boxes: Sequence[Box]) -> None:
        self._shapes = [[*(None for _ in box.ranks), *box.shape] for box in boxes]
        dtypes = [tf.as_dtype(box.dtype) for box in boxes]
        with tf.init_scope():
            # Functions have no sessions whose graphs would find it by name.
            shared = None if tf.executing_eagerly() else path
            self._queue = tf.queue.FIFOQueue(capacity, dtypes, shared_name=shared, name="queue")

    def put(self, leaves: Sequence[Any]) -> None:
        # A tensor may share its memory with an array that was fed, and that changes later.
        self._queue.enqueue([tf.raw_ops.DeepCopy(x=leaf) for leaf in leaves])

    def get(self) -> list[Any]:
        found = self._queue.dequeue()
        leaves = list(found) if isinstance(found, (list, tuple)) else [found]
        for leaf, shape in zip(leaves, self._shapes, strict=True):
            leaf.set_shape(shape)
        return leaves

    def size(self) -> Any:
        return tf.cast(self._queue.size(), tf.int64)

    def close(self) -> None:
        self._queue.close(cancel_pending_enqueues=True)
