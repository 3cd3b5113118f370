"""Convolution and pooling of NHWC images: TensorFlow's own layout."""

from __future__ import annotations

import tensorflow as tf

from rlg.graph.core.component.ops import Tensor


def conv2d(
    x: Tensor,
    kernel: Tensor,
    stride: tuple[int, int],
    padding: str,
    bias: Tensor | None = None,
) -> Tensor:
    outputs = tf.nn.conv2d(x, kernel, stride, padding.upper())
    return outputs if bias is None else tf.nn.bias_add(outputs, bias)


def max_pool2d(x: Tensor, size: tuple[int, int], stride: tuple[int, int], padding: str) -> Tensor:
    return tf.nn.max_pool2d(x, size, stride, padding.upper())
