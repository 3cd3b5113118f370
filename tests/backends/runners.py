"""Runs a function of operations once on any backend, numpy arrays in and out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
import torch

from rlg.backends.numpy.ops import NumpyOps
from rlg.backends.numpy.regions import leaves
from rlg.backends.tf.ops import TFOps
from rlg.backends.torch.ops import TorchOps
from rlg.graph.core.component.randomness import Stream

Arrays = list[np.ndarray]
# fn(ops, variables, *inputs) gives a tree of tensors.
Fn = Callable[..., Any]
BACKENDS = ("numpy", "torch", "tf", "tf-graph")
OPS = {"numpy": NumpyOps, "torch": TorchOps, "tf": TFOps, "tf-graph": TFOps}


def stream() -> Stream:
    return Stream(3, "agent/exploration")


def run(
    backend: str,
    fn: Fn,
    inputs: Sequence[np.ndarray] = (),
    variables: Mapping[str, np.ndarray] | None = None,
    draws: Sequence[tuple[str, tuple[int, ...]]] = (),
    unknown: int = 1,
) -> tuple[Arrays, dict[str, np.ndarray]]:
    """The leaves of the result, and what the variables hold afterwards.

    While TensorFlow traces, the sizes of the first `unknown` axes of each input are unknown.
    """
    variables = variables or {}
    if backend == "numpy":
        return _run_numpy(fn, inputs, variables)
    if backend == "torch":
        return _run_torch(fn, inputs, variables)
    source = stream()
    drawn = [source.draw(kind, shape) for kind, shape in draws]
    if backend == "tf":
        return _run_tf(fn, inputs, variables, drawn, unknown)
    return _run_tf_graph(fn, inputs, variables, drawn, unknown)


def make_variables(ops: Any, values: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Floats are trainable; `kernel...` has the layout of kernels."""
    return {
        name: ops.variable(
            value,
            trainable=value.dtype.kind == "f",
            layout="kernel" if name.startswith("kernel") else None,
            path=f"test/{name}",
        )
        for name, value in values.items()
    }


def _run_numpy(fn: Fn, inputs: Any, values: Any) -> Any:
    ops = NumpyOps(stream=stream())
    variables = make_variables(ops, values)
    result = fn(ops, variables, *[np.array(x) for x in inputs])
    return [np.asarray(leaf) for leaf in leaves(result)], variables


def _run_torch(fn: Fn, inputs: Any, values: Any) -> Any:
    ops = TorchOps(stream=stream())
    variables = make_variables(ops, values)
    result = fn(ops, variables, *[torch.tensor(x) for x in inputs])
    found = [leaf.detach().numpy() for leaf in leaves(result)]
    return found, {name: v.detach().numpy() for name, v in variables.items()}


def traced(ops: TFOps, fn: Fn, variables: Any, inputs: Any, drawn: Any, unknown: int) -> Any:
    """A tf.function of the inputs and the draws, and the signature it has."""

    def body(*xs: Any) -> Any:
        ops.feed = list(xs[len(inputs) :])
        return leaves(fn(ops, variables, *xs[: len(inputs)]))

    specs = [
        tf.TensorSpec([None if i < unknown else n for i, n in enumerate(np.shape(x))], x.dtype)
        for x in [*inputs, *drawn]
    ]
    return tf.function(body, autograph=False, input_signature=specs), specs


def _run_tf(fn: Fn, inputs: Any, values: Any, drawn: Any, unknown: int) -> Any:
    ops = TFOps()
    variables = make_variables(ops, values)
    function, _ = traced(ops, fn, variables, inputs, drawn, unknown)
    found = [np.asarray(leaf) for leaf in function(*inputs, *drawn)]
    return found, {name: v.numpy() for name, v in variables.items()}


def _run_tf_graph(fn: Fn, inputs: Any, values: Any, drawn: Any, unknown: int) -> Any:
    with tf.Graph().as_default() as graph:
        ops = TFOps()
        variables = make_variables(ops, values)
        function, specs = traced(ops, fn, variables, inputs, drawn, unknown)
        places = [tf.compat.v1.placeholder(spec.dtype, spec.shape) for spec in specs]
        outputs = function(*places)
        # A call without outputs would not be fetched.
        called = [op for op in graph.get_operations() if op.type == "StatefulPartitionedCall"]
        start = tf.compat.v1.global_variables_initializer()
        reads = {name: variable.read_value() for name, variable in variables.items()}
        with tf.compat.v1.Session() as session:
            session.run(start)
            feed = dict(zip(places, [*inputs, *drawn], strict=True))
            found, _ = session.run([outputs, called], feed)
            return [np.asarray(leaf) for leaf in found], session.run(reads)
