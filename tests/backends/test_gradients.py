"""Gradients where frameworks like to differ: ties, kinks, absent paths, loops, eager mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch

from rlg.backends.numpy.ops import NumpyOps
from rlg.backends.tf.ops import TFOps
from rlg.backends.tf.tape import recording
from rlg.backends.torch.ops import TorchOps
from rlg.errors import BackendError
from tests.backends.runners import run

AUTOGRAD = ("torch", "tf", "tf-graph")
autograd = pytest.mark.parametrize("backend", AUTOGRAD)


def grads(backend: str, call: Any, *values: Any) -> list[Any]:
    def fn(ops: Any, v: Any) -> Any:
        return list(ops.gradients(ops.sum(call(ops, *v.values())), v).values())

    variables = {f"x{i}": np.asarray(value, np.float32) for i, value in enumerate(values)}
    return [g.tolist() for g in run(backend, fn, [], variables)[0]]


ONES = np.ones((1, 3, 3, 1))
CORNER = [[[[1], [0], [0]], [[0], [0], [0]], [[0], [0], [0]]]]


@autograd
@pytest.mark.parametrize(
    ("call", "values", "expected"),
    [
        (lambda ops, x: ops.max(x), [[1, 1, 0]], [[0.5, 0.5, 0]]),
        (lambda ops, x: ops.max(x, axis=-1), [[[1, 1, 0], [0, 2, 2]]],
         [[[0.5, 0.5, 0], [0, 0.5, 0.5]]]),
        (lambda ops, x: ops.min(x, axis=0), [[1, 1, 2]], [[0.5, 0.5, 0]]),
        (lambda ops, x, y: ops.maximum(x, y), [[1, 2], [1, 1]], [[0.5, 1], [0.5, 0]]),
        (lambda ops, x, y: ops.minimum(x, y), [[1, 2], [1, 1]], [[0.5, 0], [0.5, 1]]),
        (lambda ops, x: ops.clip(x, -1.0, 1.0), [[-1, 1, 2]], [[1, 1, 0]]),
        (lambda ops, x: ops.relu(x), [[0, 1]], [[0, 1]]),
        (lambda ops, x: ops.abs(x), [[0, -2]], [[0, -1]]),
        (lambda ops, x: ops.elu(x), [[0]], [[1]]),
        (lambda ops, x: ops.round(x) + ops.floor(x) + ops.sign(x), [[0.4]], [[0]]),
        (lambda ops, x: ops.stop_gradient(x) * x, [[3]], [[3]]),
        (lambda ops, x: ops.value_of(x) * 2, [[3]], [[2]]),
        (lambda ops, x: ops.max_pool2d(x, (3, 3), (1, 1), "valid"), [ONES], [CORNER]),
        (lambda ops, x: ops.take_rows(x, ops.constant([1, 1], "int64")), [[1, 2, 3]], [[0, 2, 0]]),
    ],
)  # fmt: skip
def test_ties_and_kinks(backend: str, call: Any, values: Any, expected: Any) -> None:
    assert grads(backend, call, *values) == expected


@autograd
def test_a_loss_can_be_asked_twice_and_gives_zeros_where_nothing_depends(backend: str) -> None:
    def fn(ops: Any, v: Any) -> Any:
        loss = ops.sum(v["a"] * v["a"])
        first = ops.gradients(loss, {"a": v["a"]})["a"]
        second = ops.gradients(loss + ops.sum(v["a"]), {"a": v["a"], "b": v["b"]})
        third = ops.gradients(ops.constant(1.0, "float32"), {"b": v["b"]})["b"]
        return first, second["a"], second["b"], third

    variables = {"a": np.float32([1, 2]), "b": np.float32([[1, 2, 3]])}
    found = [g.tolist() for g in run(backend, fn, [], variables)[0]]
    assert found == [[2, 4], [3, 5], [[0, 0, 0]], [[0, 0, 0]]]


def _recurrent(ops: Any, v: Any, xs: Any) -> Any:
    def body(state: Any, x: Any) -> Any:
        state = ops.tanh(ops.addmm(v["bias"], x, v["input"]) + ops.matmul(state, v["state"]))
        return state, {"state": state, "norm": ops.sum(ops.square(state), axis=-1)}

    start = ops.zeros([ops.axis_size(xs, 1), 4], "float64")
    last, ys = ops.scan(body, start, xs)
    loss = ops.mean(ys["norm"]) + ops.mean(last) + ops.sum(ys["state"][0])
    return [loss, *ops.gradients(loss, v).values()]


def test_gradients_flow_through_time_alike() -> None:
    generator = np.random.default_rng(1)
    shapes = {"input": (3, 4), "bias": (4,), "state": (4, 4)}
    variables = {name: generator.normal(size=shape) for name, shape in shapes.items()}
    xs = generator.normal(size=(20, 5, 3))
    torch_result, *others = [run(b, _recurrent, [xs], variables, unknown=2)[0] for b in AUTOGRAD]
    for result in others:
        for ours, theirs in zip(torch_result, result, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    assert np.abs(torch_result[3]).max() > 1e-3


@autograd
def test_training_inside_of_a_scan(backend: str) -> None:
    def fn(ops: Any, v: Any, xs: Any) -> Any:
        def body(carry: Any, x: Any) -> Any:
            loss = ops.sum(ops.square(v["w"] - x))
            gradient = ops.gradients(loss, {"w": v["w"]})["w"]
            ops.assign_add(v["w"], -0.25 * gradient)
            return carry, ops.stop_gradient(loss)

        return ops.scan(body, None, xs)

    (losses,), found = run(backend, fn, [np.float32([4, 0, 2])], {"w": np.float32([0])})
    assert losses.tolist() == [16, 4, 1]
    assert found["w"].tolist() == [1.5]


def test_numpy_is_forward_only() -> None:
    with pytest.raises(BackendError, match="forward-only; use torch or tf"):
        NumpyOps().gradients(np.float32(1), {})


def test_tensorflow_records_in_eager_mode() -> None:
    ops = TFOps()
    w, other = (ops.variable(np.float32([1, 2]), trainable=True) for _ in range(2))
    with recording():
        loss = ops.sum(ops.take_rows(w, ops.constant([1, 1], "int64")) * 3.0)
        found = ops.gradients(loss, {"w": w, "other": other})
    assert found["w"].numpy().tolist() == [0, 6]
    assert found["other"].numpy().tolist() == [0, 0]
    with pytest.raises(BackendError, match="recording"):
        ops.gradients(loss, {"w": w})


def test_tensorflow_refuses_a_loss_of_another_region() -> None:
    ops = TFOps()
    w = ops.variable(np.float32([1, 2]), trainable=True)

    def fn(flag: Any) -> Any:
        loss = ops.sum(w)
        return ops.cond(flag, lambda: ops.gradients(loss, {"w": w})["w"], lambda: w)

    with pytest.raises(BackendError, match="another region"):
        tf.function(fn, autograph=False)(tf.constant(True))


def test_gradients_of_kernels_have_their_memory_order() -> None:
    ops = TorchOps()
    kernel = ops.variable(np.ones((3, 3, 4, 8), np.float32), trainable=True, layout="kernel")
    loss = ops.sum(ops.square(ops.conv2d(torch.rand(2, 9, 9, 4), kernel, (2, 2), "same")))
    assert ops.gradients(loss, {"kernel": kernel})["kernel"].stride() == kernel.stride()
