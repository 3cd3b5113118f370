"""Python on numpy values inside of graphs, and the errors that TensorFlow would turn into text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from rlg.backends.numpy import host as numpy_host
from rlg.backends.numpy.host import Output

# TensorFlow re-raises a host function's error as InvalidArgumentError with its text only.
_errors: list[BaseException] = []


def take_error() -> BaseException | None:
    """The first error that a host function raised since the last time this was asked."""
    error = _errors[0] if _errors else None
    _errors.clear()
    return error


def call(
    fn: Callable[..., Any], args: Sequence[Any], outputs: Sequence[Output]
) -> tuple[tf.Tensor, ...]:
    """The results of `fn` as tensors with their declared static shapes."""
    if tf.executing_eagerly():
        results = numpy_host.call(fn, [tf.convert_to_tensor(arg).numpy() for arg in args], outputs)
        return tuple(tf.constant(result) for result in results)

    def kept(*arrays: Any) -> Any:
        try:
            return list(numpy_host.call(fn, arrays, outputs))
        except BaseException as error:
            _errors.append(error)
            raise

    results = tf.numpy_function(kept, list(args), [tf.as_dtype(dtype) for dtype, _ in outputs])
    if not outputs:
        return ()
    for result, (_, shape) in zip(results, outputs, strict=True):
        result.set_shape(shape)
    return tuple(results)
