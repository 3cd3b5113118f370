"""The operations on TensorFlow tensors: aliases of its own functions wherever they mean the same.

They run while a graph is traced (or eagerly, for debugging), and keep static what they can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from rlg.backends.numpy.recurrent import ScanRecurrent
from rlg.backends.tf import images, shapes, tape
from rlg.backends.tf.optimizer import TFOptimizer
from rlg.backends.tf.priorities import TFPriorities
from rlg.backends.tf.regions import TFRegions
from rlg.backends.tf.state import TFState
from rlg.errors import BackendError
from rlg.graph.core.component.ops import Size, Tensor, Variable
from rlg.graph.core.component.randomness import UNIFORMS, Stream


class TFOps(TFState, TFPriorities, TFOptimizer, TFRegions, ScanRecurrent):
    """The contract of `rlg.graph.core.component.ops` on TensorFlow; one instance per component."""

    # Draws that a plan hands in; without them numbers come from the component's own stream.
    feed: list[Tensor] | None = None

    def __init__(self, device: str = "cpu", stream: Stream | None = None) -> None:
        self.device = device
        self.stream = stream

    # -- inspection -------------------------------------------------------------------------------
    axis_size = staticmethod(shapes.axis_size)

    @staticmethod
    def shape_of(x: Tensor) -> tuple[int | None, ...]:
        return tuple(x.shape)

    @staticmethod
    def dtype_of(x: Tensor) -> str:
        return str(x.dtype.name)

    @staticmethod
    def batch_size(x: Tensor) -> Size:
        return shapes.axis_size(x, 0)

    # -- making and reshaping ---------------------------------------------------------------------
    cast = staticmethod(tf.cast)
    zeros_like = staticmethod(tf.zeros_like)
    ones_like = staticmethod(tf.ones_like)
    reshape = staticmethod(shapes.reshape)
    transpose = staticmethod(tf.transpose)
    expand_dims = staticmethod(tf.expand_dims)
    squeeze = staticmethod(tf.squeeze)
    concat = staticmethod(tf.concat)
    stack = staticmethod(tf.stack)
    split = staticmethod(tf.split)
    fold_time = staticmethod(shapes.fold_time)
    unfold_time = staticmethod(shapes.unfold_time)
    flatten = staticmethod(shapes.flatten)

    @staticmethod
    def constant(value: Any, dtype: str) -> Tensor:
        return tf.constant(np.asarray(value, dtype))

    @staticmethod
    def zeros(shape: Sequence[Size], dtype: str = "float32") -> Tensor:
        return tf.zeros(shapes.shape_tensor(shape), dtype)

    @staticmethod
    def full(shape: Sequence[Size], value: float, dtype: str = "float32") -> Tensor:
        return tf.fill(shapes.shape_tensor(shape), tf.cast(value, dtype))

    @staticmethod
    def arange(n: Size) -> Tensor:
        return tf.range(n, dtype=tf.int64)

    @staticmethod
    def broadcast_to(x: Tensor, shape: Sequence[Size]) -> Tensor:
        return tf.broadcast_to(x, shapes.shape_tensor(shape))

    @staticmethod
    def flip(x: Tensor, axis: int) -> Tensor:
        return tf.reverse(x, [axis])

    # -- element by element -----------------------------------------------------------------------
    abs = staticmethod(tf.abs)
    sign = staticmethod(tf.sign)
    exp = staticmethod(tf.exp)
    log = staticmethod(tf.math.log)
    log1p = staticmethod(tf.math.log1p)
    sqrt = staticmethod(tf.sqrt)
    square = staticmethod(tf.square)
    power = staticmethod(tf.pow)
    tanh = staticmethod(tf.tanh)
    atanh = staticmethod(tf.atanh)
    floor = staticmethod(tf.floor)
    round = staticmethod(tf.round)
    sigmoid = staticmethod(tf.sigmoid)
    relu = staticmethod(tf.nn.relu)
    elu = staticmethod(tf.nn.elu)
    gelu = staticmethod(tf.nn.gelu)
    silu = staticmethod(tf.nn.silu)
    softplus = staticmethod(tf.nn.softplus)
    lgamma = staticmethod(tf.math.lgamma)
    digamma = staticmethod(tf.math.digamma)
    clip = staticmethod(tf.clip_by_value)
    isfinite = staticmethod(tf.math.is_finite)
    equal = staticmethod(tf.equal)
    logical_and = staticmethod(tf.logical_and)
    logical_or = staticmethod(tf.logical_or)
    logical_not = staticmethod(tf.logical_not)

    @staticmethod
    def leaky_relu(x: Tensor) -> Tensor:
        return tf.nn.leaky_relu(x, 0.01)

    @staticmethod
    def minimum(x: Tensor, y: Tensor) -> Tensor:
        return _evenly(tf.minimum, x, y)

    @staticmethod
    def maximum(x: Tensor, y: Tensor) -> Tensor:
        return _evenly(tf.maximum, x, y)

    @staticmethod
    def where(condition: Tensor, x: Tensor | float, y: Tensor | float) -> Tensor:
        kinds = {type(x), type(y)}
        if kinds <= {int, float}:
            dtype = tf.float32 if float in kinds else tf.int64
        else:
            dtype = getattr(x, "dtype", None) or getattr(y, "dtype", None)
        return tf.where(condition, tf.convert_to_tensor(x, dtype), tf.convert_to_tensor(y, dtype))

    # -- over axes --------------------------------------------------------------------------------
    sum = staticmethod(tf.reduce_sum)
    mean = staticmethod(tf.reduce_mean)
    max = staticmethod(tf.reduce_max)
    min = staticmethod(tf.reduce_min)
    any = staticmethod(tf.reduce_any)
    all = staticmethod(tf.reduce_all)
    argmax = staticmethod(tf.argmax)
    cumsum = staticmethod(tf.cumsum)
    logsumexp = staticmethod(tf.reduce_logsumexp)
    softmax = staticmethod(tf.nn.softmax)
    log_softmax = staticmethod(tf.nn.log_softmax)

    @staticmethod
    def argsort(x: Tensor, axis: int) -> Tensor:
        return tf.cast(tf.argsort(x, axis=axis, stable=True), tf.int64)

    # -- linear and images ------------------------------------------------------------------------
    matmul = staticmethod(tf.matmul)
    conv2d = staticmethod(images.conv2d)
    max_pool2d = staticmethod(images.max_pool2d)

    @staticmethod
    def addmm(bias: Tensor, x: Tensor, kernel: Tensor) -> Tensor:
        return tf.nn.bias_add(tf.matmul(x, kernel), bias)  # Fused when the graph is optimised.

    addmm_wide = addmm

    # -- picking ----------------------------------------------------------------------------------
    take_rows = staticmethod(tf.gather)

    @staticmethod
    def pick(x: Tensor, index: Tensor) -> Tensor:
        return tf.gather(x, index, axis=-1, batch_dims=len(index.shape))

    @staticmethod
    def one_hot(x: Tensor, depth: int, dtype: str = "float32") -> Tensor:
        return tf.cast(tf.one_hot(x, depth, True, False), dtype)

    # -- gradients --------------------------------------------------------------------------------
    stop_gradient = staticmethod(tf.stop_gradient)

    @staticmethod
    def gradients(loss: Tensor, variables: Mapping[str, Variable]) -> dict[str, Tensor]:
        inputs = list(variables.values())
        zero = tf.UnconnectedGradients.ZERO
        if tf.executing_eagerly():
            grads = tape.innermost().gradient(loss, inputs, unconnected_gradients=zero)
        elif loss.graph is not tf.compat.v1.get_default_graph():
            raise BackendError(  # TensorFlow would find no connection and give zeros.
                "gradients: the loss belongs to another region. Compute it where its gradients are."
            )
        else:
            grads = tf.gradients(loss, inputs, unconnected_gradients=zero)
        return {
            name: _dense(gradient, variable)
            for (name, variable), gradient in zip(variables.items(), grads, strict=True)
        }

    # -- randomness -------------------------------------------------------------------------------
    def random_uniform(self, shape: Sequence[Size], dtype: str = "float32") -> Tensor:
        return self._draw(UNIFORMS[dtype], shape)

    def random_normal(self, shape: Sequence[Size]) -> Tensor:
        return self._draw("normal", shape)

    def random_rows(self, shape: Sequence[Size], high: Size) -> Tensor:
        scaled = self._draw("uniform64", shape) * tf.cast(high, tf.float64)
        return tf.cast(scaled, tf.int64)

    def _draw(self, kind: str, shape: Sequence[Size]) -> Tensor:
        if self.feed is not None:
            return self.feed.pop(0)
        if self.stream is None:
            raise BackendError(f"random {kind} numbers: these operations have no stream.")
        if not tf.executing_eagerly():
            raise BackendError(
                f"random {kind} numbers: inside of a graph they must be fed, or they would be "
                "drawn only once. Set `ops.feed` to the tensors that the plan takes them from."
            )
        return tf.constant(self.stream.draw(kind, [int(size) for size in shape]))


def _evenly(operation: Any, x: Tensor, y: Tensor) -> Tensor:
    """Shares the gradient of ties evenly, as torch does; TensorFlow gives all to the first."""
    if not x.dtype.is_floating:
        return operation(x, y)
    return 0.5 * operation(x, y) + 0.5 * operation(y, x)


def _dense(gradient: Any, variable: Variable) -> Tensor:
    """Gradients of `take_rows` come as slices."""
    if isinstance(gradient, tf.IndexedSlices):
        return tf.math.unsorted_segment_sum(gradient.values, gradient.indices, variable.shape[0])
    return gradient
