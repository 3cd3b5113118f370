"""The operations on NumPy arrays: aliases of NumPy's own functions wherever they mean the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from rlg.backends.numpy import images, special
from rlg.backends.numpy.optimizer import NumpyOptimizer
from rlg.backends.numpy.priorities import NumpyPriorities
from rlg.backends.numpy.recurrent import ScanRecurrent
from rlg.backends.numpy.regions import PythonRegions
from rlg.backends.numpy.state import NumpyState
from rlg.errors import BackendError
from rlg.graph.core.component.ops import Axis, Size
from rlg.graph.core.component.randomness import UNIFORMS, Stream

Array: TypeAlias = Any  # An ndarray, or the scalar that NumPy makes of a 0-d one.


class NumpyOps(NumpyState, NumpyPriorities, NumpyOptimizer, PythonRegions, ScanRecurrent):
    """The contract of `rlg.graph.core.component.ops` on NumPy; one instance per component."""

    # Draws that a plan hands in; without them numbers come from the component's own stream.
    feed: list[Array] | None = None

    def __init__(self, device: str = "cpu", stream: Stream | None = None) -> None:
        self.device = device
        self.stream = stream

    # -- inspection -------------------------------------------------------------------------------
    shape_of = staticmethod(np.shape)

    @staticmethod
    def dtype_of(x: Array) -> str:
        return str(x.dtype.name)

    @staticmethod
    def batch_size(x: Array) -> Size:
        return x.shape[0]

    @staticmethod
    def axis_size(x: Array, axis: int) -> Size:
        return x.shape[axis]

    # -- making and reshaping ---------------------------------------------------------------------
    constant = staticmethod(np.array)
    zeros_like = staticmethod(np.zeros_like)
    ones_like = staticmethod(np.ones_like)
    reshape = staticmethod(np.reshape)
    transpose = staticmethod(np.transpose)
    expand_dims = staticmethod(np.expand_dims)
    squeeze = staticmethod(np.squeeze)
    broadcast_to = staticmethod(np.broadcast_to)
    concat = staticmethod(np.concatenate)
    stack = staticmethod(np.stack)
    split = staticmethod(np.split)
    flip = staticmethod(np.flip)

    @staticmethod
    def zeros(shape: Sequence[Size], dtype: str = "float32") -> Array:
        return np.zeros(shape, dtype)

    @staticmethod
    def full(shape: Sequence[Size], value: float, dtype: str = "float32") -> Array:
        return np.full(shape, value, dtype)

    @staticmethod
    def cast(x: Array, dtype: str) -> Array:
        return np.asarray(x).astype(dtype, copy=False)

    @staticmethod
    def arange(n: Size) -> Array:
        return np.arange(n, dtype=np.int64)

    @staticmethod
    def fold_time(x: Array) -> Array:
        return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])

    @staticmethod
    def unfold_time(x: Array, like: Array) -> Array:
        return x.reshape(*like.shape[:2], *x.shape[1:])

    @staticmethod
    def flatten(x: Array, keep: int = 1) -> Array:
        return x.reshape(*x.shape[:keep], int(np.prod(x.shape[keep:])))

    # -- element by element -----------------------------------------------------------------------
    abs = staticmethod(np.abs)
    sign = staticmethod(np.sign)
    exp = staticmethod(np.exp)
    log = staticmethod(np.log)
    log1p = staticmethod(np.log1p)
    sqrt = staticmethod(np.sqrt)
    square = staticmethod(np.square)
    power = staticmethod(np.power)
    tanh = staticmethod(np.tanh)
    atanh = staticmethod(np.arctanh)
    floor = staticmethod(np.floor)
    round = staticmethod(np.round)
    lgamma = staticmethod(special.lgamma)
    digamma = staticmethod(special.digamma)
    minimum = staticmethod(np.minimum)
    maximum = staticmethod(np.maximum)
    clip = staticmethod(np.clip)
    isfinite = staticmethod(np.isfinite)
    equal = staticmethod(np.equal)
    logical_and = staticmethod(np.logical_and)
    logical_or = staticmethod(np.logical_or)
    logical_not = staticmethod(np.logical_not)

    @staticmethod
    def sigmoid(x: Array) -> Array:
        small = np.exp(-np.abs(x))  # Never overflows.
        return np.where(x >= 0, 1, small) / (1 + small)

    @staticmethod
    def relu(x: Array) -> Array:
        return np.maximum(x, 0)

    @staticmethod
    def elu(x: Array) -> Array:
        return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))

    @staticmethod
    def leaky_relu(x: Array) -> Array:
        return np.where(x > 0, x, 0.01 * x)

    @staticmethod
    def gelu(x: Array) -> Array:
        return 0.5 * x * (1 + special.erf(x * 0.5**0.5))

    @staticmethod
    def silu(x: Array) -> Array:
        return x * NumpyOps.sigmoid(x)

    @staticmethod
    def softplus(x: Array) -> Array:
        return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))

    @staticmethod
    def where(condition: Array, x: Array | float, y: Array | float) -> Array:
        if {type(x), type(y)} in ({float}, {int, float}):  # NumPy would make float64 of them.
            return np.where(condition, np.float32(x), np.float32(y))
        return np.where(condition, x, y)

    # -- over axes --------------------------------------------------------------------------------
    any = staticmethod(np.any)
    all = staticmethod(np.all)
    argmax = staticmethod(np.argmax)
    cumsum = staticmethod(np.cumsum)

    @staticmethod
    def argsort(x: Array, axis: int) -> Array:
        return np.argsort(x, axis=axis, kind="stable")

    @staticmethod
    def sum(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        return np.sum(x, axis=axis, keepdims=keepdims)

    @staticmethod
    def mean(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        return np.mean(x, axis=axis, keepdims=keepdims)

    @staticmethod
    def max(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        return np.max(x, axis=axis, keepdims=keepdims)

    @staticmethod
    def min(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        return np.min(x, axis=axis, keepdims=keepdims)

    @staticmethod
    def logsumexp(x: Array, axis: int, keepdims: bool = False) -> Array:
        top = np.max(x, axis=axis, keepdims=True)
        top = np.where(np.isfinite(top), top, 0)
        with np.errstate(divide="ignore"):  # All -inf gives -inf.
            result = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
        return result if keepdims else np.squeeze(result, axis)

    @staticmethod
    def softmax(x: Array, axis: int = -1) -> Array:
        exp = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return exp / np.sum(exp, axis=axis, keepdims=True)

    @staticmethod
    def log_softmax(x: Array, axis: int = -1) -> Array:
        below = x - np.max(x, axis=axis, keepdims=True)  # First: large offsets must not round it.
        return below - np.log(np.sum(np.exp(below), axis=axis, keepdims=True))

    # -- linear and images ------------------------------------------------------------------------
    matmul = staticmethod(np.matmul)
    conv2d = staticmethod(images.conv2d)
    max_pool2d = staticmethod(images.max_pool2d)

    @staticmethod
    def addmm(bias: Array, x: Array, kernel: Array) -> Array:
        return np.matmul(x, kernel) + bias

    addmm_wide = addmm

    # -- picking ----------------------------------------------------------------------------------
    @staticmethod
    def take_rows(x: Array, rows: Array) -> Array:
        return x.take(rows, 0)  # Several times faster than x[rows] on frames.

    @staticmethod
    def pick(x: Array, index: Array) -> Array:
        return np.take_along_axis(x, index[..., None], -1)[..., 0]

    @staticmethod
    def one_hot(x: Array, depth: int, dtype: str = "float32") -> Array:
        return (x[..., None] == np.arange(depth)).astype(dtype)

    # -- gradients --------------------------------------------------------------------------------
    @staticmethod
    def stop_gradient(x: Array) -> Array:
        return x

    @staticmethod
    def gradients(loss: Array, variables: Mapping[str, Array]) -> NoReturn:
        raise BackendError("gradients: the numpy backend is forward-only; use torch or tf.")

    # -- randomness -------------------------------------------------------------------------------
    def random_uniform(self, shape: Sequence[Size], dtype: str = "float32") -> Array:
        return self._draw(UNIFORMS[dtype], shape)

    def random_normal(self, shape: Sequence[Size]) -> Array:
        return self._draw("normal", shape)

    def random_rows(self, shape: Sequence[Size], high: Size) -> Array:
        return (self._draw("uniform64", shape) * np.float64(high)).astype(np.int64)

    def _draw(self, kind: str, shape: Sequence[Size]) -> Array:
        if self.feed is not None:
            return self.feed.pop(0)
        if self.stream is None:
            raise BackendError(f"random {kind} numbers: these operations have no stream.")
        return self.stream.draw(kind, [int(size) for size in shape])
