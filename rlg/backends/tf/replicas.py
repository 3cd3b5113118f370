"""Replicas on TensorFlow: branches of the traced function that don't depend on each other.

TensorFlow itself runs them at the same time, on as many threads between operations as there are
replicas, and copies what a branch on another device reads: its part of the batch, and variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from rlg.backends.replicas import Replicated
from rlg.backends.tf.regions import as_tensor


class TFReplicas(Replicated):
    """Replicated bodies as branches."""

    def placed(self, body: Callable[[Any], Any], device: str) -> Callable[[Any], Any]:
        def on_device(part: Any) -> Any:
            with tf.device(device):
                return body(part)

        return on_device

    def axis_size(self, x: Any, axis: int) -> Any:
        static = x.shape[axis]
        return tf.shape(x)[axis] if static is None else static

    def cut(self, x: Any, sizes: Sequence[Any], axis: int) -> Sequence[Any]:
        parts: Sequence[Any] = tf.split(x, tf.stack(sizes), axis, num=len(sizes))
        for part, size in zip(parts, sizes, strict=True):
            if isinstance(size, int):
                part.set_shape([*x.shape[:axis], size, *x.shape[axis + 1 :]])
        return parts

    def join(self, parts: Sequence[Any], axis: int) -> Any:
        return tf.concat(list(parts), axis)

    def average(self, columns: Sequence[Sequence[Any]], sizes: Sequence[Any]) -> Sequence[Any]:
        total = sum(sizes)
        means = []
        for column in columns:
            parts = [as_tensor(part) for part in column]
            shares = [tf.cast(size, parts[0].dtype) for size in sizes]
            # A part without items has no mean: its share is 0, whatever it computed.
            weighed = [
                tf.math.multiply_no_nan(part, share / tf.cast(total, share.dtype))
                for part, share in zip(parts, shares, strict=True)
            ]
            means.append(sum(weighed[1:], weighed[0]))
        return means
