"""The contract as a table: every operation with inputs and what has to come out, dtypes included.

Expectations are literals or independent formulas (SciPy, loops), never what a backend gave. A new
backend inherits the table by its name in `runners.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from rlg.backends.numpy.kernels import EMPTY
from rlg.graph.core.component.randomness import Stream


def f32(value: Any) -> np.ndarray:
    return np.asarray(value, np.float32)


def i64(value: Any) -> np.ndarray:
    return np.asarray(value, np.int64)


def bools(*values: int) -> np.ndarray:
    return np.asarray(values, bool)


@dataclass(frozen=True)
class Case:
    """One call: `call(ops, *inputs)`, or `call(ops, variables, *inputs)` if there are variables."""

    op: str
    call: Callable[..., Any]
    inputs: Sequence[np.ndarray]
    expected: Any
    # Which inputs to differentiate by.
    grad: tuple[int, ...] = ()
    unknown: int = 1
    variables: dict[str, np.ndarray] = field(default_factory=dict)
    draws: Sequence[tuple[str, tuple[int, ...]]] = ()
    compiles: bool = True

    def run(self, ops: Any, variables: Any, *inputs: Any) -> Any:
        return self.call(ops, variables, *inputs) if self.variables else self.call(ops, *inputs)


def elementwise(op: str, x: np.ndarray, expected: Any, grad: bool = True) -> Case:
    return Case(op, lambda ops, x: getattr(ops, op)(x), [x], f32(expected), (0,) if grad else ())


# [2, 3]: signed, positive, inside of (-1, 1); no value twice, none where a gradient jumps.
X = f32([[-2.0, -0.5, 0.3], [0.7, 1.5, -1.2]])
Y = f32([[0.1, -0.6, 0.8], [-0.3, 1.9, -2.2]])
P = f32([[0.1, 0.5, 1.0], [2.5, 7.25, 30.0]])
U = X / 3
X64, P64, U64 = X.astype(np.float64), P.astype(np.float64), U.astype(np.float64)
Q = f32(np.arange(24).reshape(2, 3, 4))
ROWS = i64([3, 0, 3])
TABLE = f32(np.arange(8).reshape(4, 2)) / 4
MASK = np.array([[True, False, True], [False, False, True]])
INF = f32([np.inf, -np.inf, np.nan, 0.0])
SCALES = f32(10.0) ** np.arange(-3, 3, dtype=np.float32)


def convolution(
    x: np.ndarray, kernel: np.ndarray, stride: tuple[int, int], pads: Any
) -> np.ndarray:
    """By the definition, window by window; pads are given by hand."""
    x = np.pad(x.astype(np.float64), ((0, 0), *pads, (0, 0)))
    height, width = kernel.shape[:2]
    rows = range(0, x.shape[1] - height + 1, stride[0])
    columns = range(0, x.shape[2] - width + 1, stride[1])
    windows = [[x[:, i : i + height, j : j + width] for j in columns] for i in rows]
    return np.array(
        [[np.einsum("bhwi,hwio->bo", window, kernel) for window in row] for row in windows]
    ).transpose(2, 0, 1, 3)


RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(2, 5, 6, 3)).astype(np.float32)
KERNEL = RNG.normal(size=(2, 3, 3, 4)).astype(np.float32)
SQUARE = RNG.normal(size=(3, 3, 3, 2)).astype(np.float32)
GRID = f32(np.arange(16).reshape(1, 4, 4, 1))
ODD = f32(np.arange(25).reshape(1, 5, 5, 1))


def conv(kernel: np.ndarray, stride: tuple[int, int], padding: str, pads: Any) -> Case:
    return Case(
        "conv2d",
        lambda ops, x, k: ops.conv2d(x, k, stride, padding),
        [IMAGES, kernel],
        f32(convolution(IMAGES, kernel, stride, pads)),
        (0, 1) if kernel is KERNEL else (0,),
    )


BIAS = f32([0.5, -1.0, 2.0, 0.25])


def biased_conv() -> Case:
    return Case(
        "conv2d",
        lambda ops, x, k, b: ops.conv2d(x, k, (1, 1), "valid", b),
        [IMAGES, KERNEL, BIAS],
        f32(convolution(IMAGES, KERNEL, (1, 1), ((0, 0), (0, 0))) + BIAS),
        (0, 1, 2),
    )


def pool(x: np.ndarray, size: int, stride: int, padding: str, expected: Any) -> Case:
    return Case(
        "max_pool2d",
        lambda ops, x: ops.max_pool2d(x, (size, size), (stride, stride), padding),
        [x],
        f32(expected)[None, :, :, None],
        (0,),
    )


GATES = RNG.normal(size=(3, 2, 8)).astype(np.float32)
MIXER = RNG.normal(size=(2, 8)).astype(np.float32)
MEMORY = RNG.normal(size=(2, 2, 2)).astype(np.float32)
STARTS = np.array([[0, 1], [1, 0], [0, 0]], bool)


def lstm(x: np.ndarray, resets: np.ndarray | None) -> list[np.ndarray]:
    """All h, then the last c and h, step by step."""
    c, h = MEMORY.astype(np.float64)
    outputs = []
    for t, row in enumerate(x):
        if resets is not None:
            c, h = (state * ~resets[t][:, None] for state in (c, h))
        i, j, f, o = np.split(row + h @ MIXER, 4, -1)
        c = special.expit(f) * c + special.expit(i) * np.tanh(j)
        h = special.expit(o) * np.tanh(c)
        outputs.append(h)
    return [*outputs, c, h]


INSPECTION = [
    Case("shape_of", lambda ops, x: ops.constant(ops.shape_of(x)[1:], "int64"), [Q], i64([3, 4])),
    Case("dtype_of", lambda ops, x: ops.constant(ops.dtype_of(x) == "bool", "bool"), [MASK],
         np.array(True)),
    Case("batch_size", lambda ops, x: ops.arange(ops.batch_size(x)), [Q], i64([0, 1])),
    Case("axis_size", lambda ops, x: ops.zeros([ops.axis_size(x, -2), ops.axis_size(x, 0)]), [Q],
         np.zeros((3, 2), np.float32), unknown=2),
]  # fmt: skip

SHAPES = [
    Case("constant", lambda ops: ops.constant([1, 2], "float32"), [], f32([1, 2])),
    Case("constant", lambda ops: ops.constant(np.array([3]), "uint8"), [], np.uint8([3])),
    Case("cast", lambda ops, x: ops.cast(x, "int64"), [X], i64([[-2, 0, 0], [0, 1, -1]])),
    Case("cast", lambda ops, x: ops.cast(x, "float32"), [MASK], f32([[1, 0, 1], [0, 0, 1]])),
    Case("cast", lambda ops, x: ops.cast(x, "bool"), [f32([0, 0.5, -1])], bools(0, 1, 1)),
    Case("cast", lambda ops, x: ops.cast(ops.batch_size(x), "float32"), [X], f32(2)),
    Case("cast", lambda ops, x: ops.cast(x, "float64") / 255, [np.uint8([0, 51, 255])],
         np.array([0, 0.2, 1])),
    Case("zeros", lambda ops, x: ops.zeros([ops.batch_size(x), 2], "int64"), [X],
         i64([[0, 0]] * 2)),
    Case("full", lambda ops, x: ops.full([3, ops.batch_size(x)], 0.5), [X], f32([[0.5, 0.5]] * 3)),
    Case("full", lambda ops: ops.full((2,), True, "bool"), [], bools(1, 1)),
    Case("zeros_like", lambda ops, x: ops.zeros_like(x), [MASK], np.zeros((2, 3), bool)),
    Case("ones_like", lambda ops, x: ops.ones_like(x), [X], np.ones((2, 3), np.float32)),
    Case("arange", lambda ops: ops.arange(3), [], i64([0, 1, 2])),
    Case("reshape", lambda ops, x: ops.reshape(x, [ops.batch_size(x), 2, -1]), [Q],
         Q.reshape(2, 2, 6), (0,)),
    Case("reshape", lambda ops, x: ops.reshape(x, (-1, 4)), [Q], Q.reshape(6, 4), unknown=2),
    Case("reshape", lambda ops, x: ops.reshape(x, [ops.axis_size(x, 1), 4, ops.batch_size(x)]),
         [Q], Q.reshape(3, 4, 2), unknown=2),
    Case("transpose", lambda ops, x: ops.transpose(x, (2, 0, 1)), [Q], np.moveaxis(Q, 2, 0), (0,)),
    Case("expand_dims", lambda ops, x: ops.expand_dims(x, axis=-1), [X], X[:, :, None], (0,)),
    Case("squeeze", lambda ops, x: ops.squeeze(x, axis=1), [X[:, None]], X, (0,)),
    Case("broadcast_to", lambda ops, x: ops.broadcast_to(x, [2, ops.batch_size(x)]), [X[0]],
         np.stack([X[0], X[0]]), (0,)),
    Case("concat", lambda ops, x, y: ops.concat([x, y], axis=-1), [X, Y],
         np.hstack([X, Y]), (0, 1)),
    Case("concat", lambda ops, x, y: ops.concat((x, y), 0), [X, Y], np.vstack([X, Y])),
    Case("stack", lambda ops, x, y: ops.stack([x, y], axis=1), [X, Y],
         np.array([[X[0], Y[0]], [X[1], Y[1]]]), (0, 1)),
    Case("split", lambda ops, x: 2.0 * ops.split(x, 3, -1)[1] + ops.split(x, 3, 1)[0], [X],
         2 * X[:, 1:2] + X[:, :1], (0,)),
    Case("flip", lambda ops, x: ops.flip(x, axis=0), [X], X[::-1], (0,)),
    Case("fold_time", lambda ops, x: ops.fold_time(x), [Q], Q.reshape(6, 4), (0,), unknown=2),
    Case("unfold_time", lambda ops, x, y: ops.unfold_time(x, y), [Q.reshape(6, 4), X],
         Q, (0,), unknown=2),
    Case("flatten", lambda ops, x: ops.flatten(x), [Q], Q.reshape(2, 12), (0,)),
    Case("flatten", lambda ops, x: ops.flatten(x, keep=2), [Q], Q, unknown=2),
    Case("flatten", lambda ops, x: ops.flatten(x), [Q[:, 0, 0]], f32([[0], [12]])),
]  # fmt: skip

ELEMENTWISE = [
    elementwise("abs", X, np.abs(X64)),
    elementwise("sign", f32([-2, 0, 3]), [-1, 0, 1], grad=False),
    elementwise("exp", X, np.exp(X64)),
    elementwise("log", P, np.log(P64)),
    elementwise("log1p", P, np.log1p(P64)),
    elementwise("sqrt", P, P64**0.5),
    elementwise("square", X, X64 * X64),
    elementwise("tanh", X, np.tanh(X64)),
    elementwise("atanh", U, np.arctanh(U64)),
    elementwise("floor", X, [[-2, -1, 0], [0, 1, -2]], grad=False),
    elementwise("round", f32([0.5, 1.5, 2.5, -0.5, -1.7]), [0, 2, 2, 0, -2], grad=False),
    elementwise("sigmoid", X, special.expit(X64)),
    elementwise("sigmoid", f32([-200, 200, -20]), [0, 1, special.expit(-20.0)], grad=False),
    elementwise("relu", X, [[0, 0, 0.3], [0.7, 1.5, 0]]),
    elementwise("elu", X, np.where(X64 > 0, X64, np.exp(X64) - 1)),
    elementwise("leaky_relu", X, [[-0.02, -0.005, 0.3], [0.7, 1.5, -0.012]]),
    elementwise("gelu", X, X64 * special.ndtr(X64)),
    elementwise("silu", X, X64 * special.expit(X64)),
    elementwise("softplus", X, np.log1p(np.exp(X64))),
    elementwise("softplus", f32([-200, 200]), [0, 200], grad=False),
    elementwise("lgamma", P, special.gammaln(P64)),
    elementwise("digamma", P, special.digamma(P64)),
    elementwise("digamma", SCALES, special.digamma(SCALES.astype(np.float64)), grad=False),
    Case("power", lambda ops, x: ops.power(x, 3.0), [X], f32(X64**3), (0,)),
    Case("power", lambda ops, x, y: ops.power(x, y), [P, X], f32(P64**X64), (0, 1)),
    Case("minimum", lambda ops, x, y: ops.minimum(x, y), [X, Y],
         f32([[-2, -0.6, 0.3], [-0.3, 1.5, -2.2]]), (0, 1)),
    Case("minimum", lambda ops, x, y: ops.minimum(x, y), [i64([1, 5]), i64([2])], i64([1, 2])),
    Case("maximum", lambda ops, x, y: ops.maximum(x, y), [X, Y[0]],
         f32([[0.1, -0.5, 0.8], [0.7, 1.5, 0.8]]), (0, 1)),
    Case("clip", lambda ops, x: ops.clip(x, -1.0, 1.0), [X],
         f32([[-1, -0.5, 0.3], [0.7, 1, -1]]), (0,)),
    Case("clip", lambda ops, x: ops.clip(x, 0, 4), [i64([-3, 3, 9])], i64([0, 3, 4])),
    Case("where", lambda ops, c, x, y: ops.where(c, x, y), [MASK, X, Y],
         f32([[-2, -0.6, 0.3], [-0.3, 1.9, -1.2]]), (1, 2)),
    Case("where", lambda ops, c, x: ops.where(c, 0.0, x), [MASK, X],
         f32([[0, -0.5, 0], [0.7, 1.5, 0]]), (1,)),
    Case("where", lambda ops, c, x: ops.where(c, x, 1), [MASK[0], np.uint8([7, 8, 9])],
         np.uint8([7, 1, 9])),
    Case("where", lambda ops, c, x: ops.where(c, x, -1), [MASK[0], i64([7, 8, 9])],
         i64([7, -1, 9])),
    Case("where", lambda ops, c: ops.where(c, 1.0, 0.0), [MASK[0]], f32([1, 0, 1])),
    Case("where", lambda ops, c: ops.where(c, 1, 0), [MASK[0]], i64([1, 0, 1])),
    Case("where", lambda ops, c: ops.where(c, 1, 0.5), [MASK[0]], f32([1, 0.5, 1])),
    Case("where", lambda ops, c: ops.where(c, True, False), [MASK[0]], bools(1, 0, 1)),
    Case("isfinite", lambda ops, x: ops.isfinite(x), [INF], bools(0, 0, 0, 1)),
    Case("equal", lambda ops, x, y: ops.equal(x, y), [i64([1, 2, 3]), i64([1, 5, 3])],
         bools(1, 0, 1)),
    Case("equal", lambda ops, x: ops.equal(x, 2), [i64([[1, 2], [2, 0]])],
         np.array([[0, 1], [1, 0]], bool)),
    Case("equal", lambda ops, x, y: ops.equal(x, y), [f32([[0.5], [np.inf]]), f32([0.5, np.inf])],
         np.array([[1, 0], [0, 1]], bool)),
    Case("equal", lambda ops, x: ops.equal(x, x), [f32([np.nan, 1.0])], bools(0, 1)),
    Case("logical_and", lambda ops, x, y: ops.logical_and(x, y), [MASK, ~MASK[0]],
         np.array([[0, 0, 0], [0, 0, 0]], bool)),
    Case("logical_or", lambda ops, x, y: ops.logical_or(x, y), [MASK[0], MASK[1]], bools(1, 0, 1)),
    Case("logical_not", lambda ops, x: ops.logical_not(x), [MASK[0]], bools(0, 1, 0)),
]  # fmt: skip

AXES = [
    Case("sum", lambda ops, x: ops.sum(x), [X], f32(-1.2), (0,)),
    Case("sum", lambda ops, x: ops.sum(x, axis=-1, keepdims=True), [X], f32([[-2.2], [1.0]]), (0,)),
    Case("sum", lambda ops, x: ops.sum(x, 0), [i64([[1, 2], [3, 4]])], i64([4, 6])),
    Case("sum", lambda ops, x: ops.sum(x, (0, 2)), [Q], f32([60, 92, 124]), (0,)),
    Case("mean", lambda ops, x: ops.mean(x), [X], f32(-0.2), (0,)),
    Case("mean", lambda ops, x: ops.mean(x, axis=0, keepdims=True), [X],
         f32([[-0.65, 0.5, -0.45]]), (0,)),
    Case("max", lambda ops, x: ops.max(x), [X], f32(1.5), (0,)),
    Case("max", lambda ops, x: ops.max(x, axis=-1), [X], f32([0.3, 1.5]), (0,)),
    Case("max", lambda ops, x: ops.max(x, axis=0, keepdims=True), [i64([[1, 5], [3, 4]])],
         i64([[3, 5]])),
    Case("min", lambda ops, x: ops.min(x), [X], f32(-2), (0,)),
    Case("min", lambda ops, x: ops.min(x, axis=(0, 1), keepdims=True), [Q], f32([[[0, 1, 2, 3]]])),
    Case("any", lambda ops, x: ops.any(x), [MASK], np.array(True)),
    Case("any", lambda ops, x: ops.any(x, axis=0), [MASK], bools(1, 0, 1)),
    Case("all", lambda ops, x: ops.all(x), [MASK], np.array(False)),
    Case("all", lambda ops, x: ops.all(x, axis=0), [MASK], bools(0, 0, 1)),
    Case("argmax", lambda ops, x: ops.argmax(x, axis=-1), [f32([[1, 3, 3], [2, 2, 2]])],
         i64([1, 0])),
    Case("argmax", lambda ops, x: ops.argmax(x, 0), [np.tile(f32([0, 1]), 5000)], i64(1)),
    Case("argsort", lambda ops, x: ops.argsort(x, axis=-1), [f32([[3, 1, 3, 1], [2, 2, 0, 2]])],
         i64([[1, 3, 0, 2], [2, 0, 1, 3]])),
    Case("argsort", lambda ops, x: ops.argsort(x, 0), [f32([[0.5, -1], [0.25, 7]])],
         i64([[1, 0], [0, 1]]), unknown=2),
    Case("cumsum", lambda ops, x: ops.cumsum(x, axis=1), [X],
         f32([[-2, -2.5, -2.2], [0.7, 2.2, 1.0]]), (0,)),
    Case("cumsum", lambda ops, x: ops.cumsum(x, 0), [i64([1, 2, 3])], i64([1, 3, 6])),
    Case("logsumexp", lambda ops, x: ops.logsumexp(x, axis=-1), [X],
         f32(special.logsumexp(X64, 1)), (0,)),
    Case("logsumexp", lambda ops, x: ops.logsumexp(x, axis=0, keepdims=True),
         [f32([[1000, -np.inf], [1000, -np.inf]])], f32([[1000.6931472, -np.inf]])),
    Case("softmax", lambda ops, x: ops.softmax(x), [X], f32(special.softmax(X64, 1)), (0,)),
    Case("softmax", lambda ops, x: ops.softmax(x, axis=0), [1000 * X],
         f32([[0, 0, 1], [1, 1, 0]])),
    Case("log_softmax", lambda ops, x: ops.log_softmax(x), [X],
         f32(special.log_softmax(X64, 1)), (0,)),
    Case("log_softmax", lambda ops, x: ops.log_softmax(x, axis=0), [1000 * X],
         f32([[-2700, -2000, 0], [0, 0, -1500]])),
    Case("log_softmax", lambda ops, x: ops.log_softmax(x), [f32([[-1e9, -1e9]])],
         f32([[-0.6931472, -0.6931472]])),
]  # fmt: skip

LINEAR = [
    Case("matmul", lambda ops, x, y: ops.matmul(x, y), [X, X.T],
         f32([[4.34, -2.51], [-2.51, 4.18]]), (0, 1), unknown=0),
    Case("matmul", lambda ops, x, y: ops.matmul(x, y), [Q, Q[0, 0, :, None]],
         f32(np.einsum("abc,c->ab", Q, Q[0, 0]))[..., None], (0, 1)),
    Case("addmm", lambda ops, x, k, b: ops.addmm(b, x, k), [X, Y.T, f32([1, -1])],
         f32([[1.34, -2.01], [-0.79, 4.28]]), (0, 1, 2), unknown=0),
    Case("addmm_wide", lambda ops, x, k, b: ops.addmm_wide(b, x, k), [X, Y.T, f32([1, -1])],
         f32([[1.34, -2.01], [-0.79, 4.28]]), (0, 1, 2), unknown=0),
    Case("lstm_step", lambda ops, *given: ops.concat(ops.lstm_step(*given), -1),
         [GATES[0], MIXER, *MEMORY], f32(np.concatenate(lstm(GATES[:1], None)[1:], -1)),
         (0, 1, 2, 3)),
    Case("lstm", lambda ops, *given: ops.concat([ops.lstm(*given)[0], ops.stack(
         ops.lstm(*given)[1:], 0)], 0), [GATES, MIXER, *MEMORY], f32(lstm(GATES, None)),
         (0, 1, 2, 3), unknown=2),
    Case("lstm", lambda ops, *given: ops.concat([ops.lstm(*given)[0], ops.stack(
         ops.lstm(*given)[1:], 0)], 0), [GATES, MIXER, *MEMORY, STARTS], f32(lstm(GATES, STARTS)),
         (0, 1, 2, 3), unknown=2),
    biased_conv(),
    conv(KERNEL, (1, 1), "valid", ((0, 0), (0, 0))),
    conv(KERNEL, (2, 2), "valid", ((0, 0), (0, 0))),
    conv(KERNEL, (1, 1), "same", ((0, 1), (1, 1))),
    conv(KERNEL, (2, 2), "same", ((0, 1), (0, 1))),
    conv(KERNEL, (3, 1), "same", ((0, 0), (1, 1))),
    conv(SQUARE, (1, 1), "same", ((1, 1), (1, 1))),
    conv(SQUARE, (2, 2), "same", ((1, 1), (0, 1))),
    pool(GRID, 2, 2, "valid", [[5, 7], [13, 15]]),
    pool(ODD, 3, 2, "same", [[6, 8, 9], [16, 18, 19], [21, 23, 24]]),
    pool(-GRID, 3, 2, "same", [[0, -2], [-8, -10]]),
]  # fmt: skip

PICKING = [
    Case("take_rows", lambda ops, x, rows: ops.take_rows(x, rows), [TABLE, ROWS],
         f32([[1.5, 1.75], [0, 0.25], [1.5, 1.75]]), (0,)),
    Case("take_rows", lambda ops, x, rows: ops.take_rows(x, rows), [i64([5, 6]), i64([[1], [0]])],
         i64([[6], [5]])),
    Case("pick", lambda ops, x, index: ops.pick(x, index), [X, i64([2, 0])], f32([0.3, 0.7]), (0,)),
    Case("pick", lambda ops, x, index: ops.pick(x, index), [Q, i64([[0, 1, 2], [3, 3, 0]])],
         f32([[0, 5, 10], [15, 19, 20]]), (0,), unknown=2),
    Case("one_hot", lambda ops, x: ops.one_hot(x, 3), [i64([2, 0])], f32([[0, 0, 1], [1, 0, 0]])),
    Case("one_hot", lambda ops, x: ops.one_hot(x, 2, "bool"), [i64([[1]])],
         bools(0, 1)[None, None]),
]  # fmt: skip


def _counts(ops: Any, v: Any, x: Any) -> Any:
    before = ops.value_of(v["w"])
    ops.assign(v["w"], x)
    ops.assign_add(v["w"], x)
    ops.assign_add(v["n"], 1)
    ops.assign(v["n"], v["n"] * 2)
    return before, ops.value_of(v["w"]), ops.value_of(v["n"])


def _scattered(ops: Any, v: Any, rows: Any, values: Any) -> Any:
    ops.scatter_rows(v["w"], rows, values)
    ops.scatter_rows(v["mask"], rows, ops.constant([True, True, False], "bool"))
    ops.scatter_rows(v["frames"], rows[:2], 7)
    return ops.value_of(v["w"]), ops.value_of(v["mask"]), ops.value_of(v["frames"])


def _slope(ops: Any, v: Any, x: Any) -> Any:
    loss = ops.sum(ops.square(x) * v["w"]) + ops.sum(ops.take_rows(v["table"], ops.arange(2)))
    grads = ops.gradients(loss, {"w": v["w"], "other": v["other"], "table": v["table"]})
    return grads["w"], grads["other"], grads["table"]


def _adam_once(ops: Any, v: Any, x: Any) -> Any:
    ops.adam([v["w"]], [x], [v["m"]], [v["s"]], v["t"],
             learning_rate=0.1, beta1=0.9, beta2=0.999, epsilon=1e-8)  # fmt: skip
    return ops.value_of(v["w"]), ops.value_of(v["m"]), ops.value_of(v["s"]), ops.value_of(v["t"])


def _discounted(ops: Any, x: Any) -> Any:
    def body(carry: Any, row: Any) -> Any:
        total = row["x"] + 0.5 * carry[0]
        return (total, carry[1] + 1), {"total": total, "step": (carry[1],)}

    start = (ops.zeros([ops.axis_size(x, 1)]), ops.constant(0, "int64"))
    return ops.scan(body, start, {"x": x})


def _halved(ops: Any, x: Any) -> Any:
    def when_true() -> Any:
        return {"y": 0.5 * x, "n": ops.constant(1, "int64")}

    def when_false() -> Any:
        return {"y": x, "n": ops.constant(2, "int64")}

    return ops.cond(ops.sum(x) > 0, when_true, when_false)


def _hosted(ops: Any, x: Any) -> Any:
    def fn(a: np.ndarray) -> Any:
        return a[:, ::-1] * 2, a.sum(), len(a)

    return ops.host(fn, [x], [("float32", (None, 3)), ("float64", ()), ("int64", ())])


def _prioritized(ops: Any, v: Any, rows: Any, values: Any) -> Any:
    ops.priority_set(v["sums"], v["mins"], rows, values)
    return ops.value_of(v["sums"]), ops.value_of(v["mins"])


W = f32([1, 2])
DRAWN = Stream(3, "agent/exploration")
STATE = [
    Case("variable", lambda ops, v: [v[name] * 1 for name in sorted(v)], [],
         [np.uint8([1, 2]), f32([0.5, 0.5]), i64(3), np.float64(0.25)],
         variables={"a": np.uint8([1, 2]), "b": np.broadcast_to(np.float32(0.5), 2), "c": i64(3),
                    "d": np.array(0.25)}),
    Case("assign", lambda ops, v, x: ops.assign(v["w"], x) or ops.value_of(v["w"]), [f32([5, 6])],
         f32([5, 6]), variables={"w": W}),
    Case("assign", lambda ops, v: ops.assign(v["w"], 3.0) or ops.value_of(v["w"]), [], f32([3, 3]),
         variables={"w": W}),
    Case("assign_all", lambda ops, v, *given: ops.assign_all([v["w"], v["n"]], given)
         or (v["w"] * 1, v["n"] * 1), [f32([5, 6]), i64(2)], [f32([5, 6]), i64(2)],
         variables={"w": W, "n": i64(7)}),
    Case("assign_add", _counts, [f32([5, 6])], [W, f32([10, 12]), i64(16)],
         variables={"w": W, "n": i64(7)}),
    Case("value_of", _counts, [f32([0, 1])], [W, f32([0, 2]), i64(2)],
         variables={"w": W, "n": i64(0)}),
    Case("scatter_rows", _scattered, [ROWS, f32([[1, 2], [3, 4], [5, 6]])],
         [f32([[3, 4], [0.5, 0.75], [1, 1.25], [5, 6]]), bools(1, 0, 0, 0), np.uint8([7, 0, 0, 7])],
         variables={"w": TABLE, "mask": bools(0, 0, 0, 0), "frames": np.zeros(4, np.uint8)}),
    Case("priority_set", _prioritized, [i64([2, 0, 2, 1]), np.float64([9, 0.5, 3, 0])],
         [np.float64([0, 3.5, 0.5, 3, 0.5, 0, 3, 0]),
          np.float64([EMPTY, 0.5, 0.5, 3, 0.5, EMPTY, 3, EMPTY])],
         variables={"sums": np.zeros(8), "mins": np.full(8, EMPTY)}),
    Case("priority_set", lambda ops, v, *given: ops.priority_set(v["sums"], v["mins"], *given, True)
         or ops.value_of(v["sums"]), [i64([1, 2, 0]), np.float64([7, 5, 1])],
         np.float64([0, 6, 1, 5, 1, 0, 5, 0]),
         variables={"sums": np.float64([0, 3.5, 0.5, 3, 0.5, 0, 3, 0]), "mins": np.full(8, EMPTY)}),
    Case("priority_raise", lambda ops, v, x: (ops.priority_raise(v["top"], x, 1.0, 0.5),
                                              ops.value_of(v["top"])),
         [f32([-3, 0, np.nan, 8, -np.inf])], [np.float64([2, 1, 2, 3, 2]), f32(9)],
         variables={"top": f32(4)}),
    Case("priority_draw", lambda ops, v, x: ops.priority_draw(v["sums"], x),
         [np.float64([0.5, 0.0, 0.999, 0.25])], [i64([0, 2, 2, 2]), np.float64([1, 3, 3, 3])],
         variables={"sums": np.float64([0, 4, 1, 3, 1, 0, 3, 0])}),
    Case("priority_find", lambda ops, v, x: ops.priority_find(v["sums"], x),
         [np.float64([0, 0.49, 0.5, 3.4, 3.5, 99])], i64([0, 0, 2, 2, 2, 2]),
         variables={"sums": np.float64([0, 3.5, 0.5, 3, 0.5, 0, 3, 0])}),
    Case("require", lambda ops, x: ops.require(ops.sum(x) > 0, "it is empty") or x * 1,
         [f32([1, 2])], f32([1, 2]), compiles=False),
    Case("global_norm", lambda ops, x, y: ops.global_norm([x, y]), [f32([3, 0]), f32([[4], [12]])],
         f32(13), grad=(0, 1)),
    Case("scale_all", lambda ops, x, y, f: tuple(ops.scale_all([x, y], f)), [f32([3, 0]),
         f32([[4], [12]]), f32(0.5)], [f32([1.5, 0]), f32([[2], [6]])]),
    Case("adam", _adam_once, [f32([2.0, -3.0])], [f32([0.9, 2.1]), f32([0.2, -0.3]),
         f32([0.004, 0.009]), f32(1)],
         variables={"w": W, "m": 0 * W, "s": 0 * W, "t": f32(0)}),
]  # fmt: skip

GRADIENTS = [
    Case("stop_gradient", lambda ops, x: ops.stop_gradient(x), [X], X),
    Case("gradients", _slope, [f32([2, 3])],
         [f32([4, 9]), f32([0, 0, 0]), f32([[1, 1], [1, 1], [0, 0]])],
         variables={"w": W, "other": f32([1, 2, 3]), "table": TABLE[:3]}),
]  # fmt: skip

RANDOM = [
    Case("random_uniform", lambda ops, x: ops.random_uniform([ops.batch_size(x), 4]), [X],
         Stream(3, "agent/exploration").uniform((2, 4)), draws=[("uniform", (2, 4))],
         compiles=False),
    Case("random_uniform", lambda ops: ops.random_uniform((3,), "float64"), [],
         Stream(3, "agent/exploration").uniform64((3,)), draws=[("uniform64", (3,))],
         compiles=False),
    Case("random_normal", lambda ops: (ops.random_normal((2,)), ops.random_normal((3,))), [],
         [DRAWN.normal((2,)), DRAWN.normal((3,))], draws=[("normal", (2,)), ("normal", (3,))],
         compiles=False),
    Case("random_rows", lambda ops, v: ops.random_rows((5,), v["size"]), [],
         i64([int(u * 1000) for u in Stream(3, "agent/exploration").uniform64((5,))]),
         variables={"size": i64(1000)}, draws=[("uniform64", (5,))]),
    Case("random_rows", lambda ops: ops.random_rows((5,), 3), [],
         i64([int(u * 3) for u in Stream(3, "agent/exploration").uniform64((5,))]),
         draws=[("uniform64", (5,))], compiles=False),
]  # fmt: skip

REGIONS = [
    Case("scan", _discounted, [f32([[1, 2], [3, 4], [5, 6]])],
         [f32([6.75, 8.5]), i64(3), i64([0, 1, 2]), f32([[1, 2], [3.5, 5], [6.75, 8.5]])],
         unknown=2),
    Case("scan", lambda ops, x: ops.scan(lambda c, _: (c * 2, None), x, None, 3)[0], [W],
         f32([8, 16]), (0,)),
    Case("scan", lambda ops, x: ops.scan(lambda c, row: (c, row * row), (), x), [X], X * X, (0,)),
    Case("cond", _halved, [f32([1, 2])], [i64(1), f32([0.5, 1])], compiles=False),
    Case("cond", _halved, [f32([1, -2])], [i64(2), f32([1, -2])], compiles=False),
    Case("host", _hosted, [X], [2 * X[:, ::-1], np.array(X.sum(), np.float64), i64(2)],
         compiles=False),
]  # fmt: skip

CASES = [*INSPECTION, *SHAPES, *ELEMENTWISE, *AXES, *LINEAR, *PICKING, *STATE, *GRADIENTS, *RANDOM,
         *REGIONS]  # fmt: skip
IDS = [f"{case.op}-{number}" for number, case in enumerate(CASES)]
