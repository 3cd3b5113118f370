"""Python on numpy values inside of graphs, and the errors that TensorFlow would turn into text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from rlg.backends.hosting import map_arrays
from rlg.backends.numpy import host as numpy_host
from rlg.backends.numpy.host import Output
from rlg.graph.spaces import flatten, unflatten


class _Tracing(threading.local):
    """Where the host calls that this thread traces now will leave their errors."""

    errors: list[BaseException] | None = None


_tracing = _Tracing()


@contextmanager
def keeping(errors: list[BaseException]) -> Iterator[None]:
    """Host calls that are traced inside append what they raise to `errors`.

    TensorFlow re-raises an error as InvalidArgumentError with its text only. Each executor has a
    list of its own: what fails in one is never reported by another.
    """
    before, _tracing.errors = _tracing.errors, errors
    try:
        yield
    finally:
        _tracing.errors = before


def call(
    fn: Callable[..., Any], args: Sequence[Any], outputs: Sequence[Output]
) -> tuple[tf.Tensor, ...]:
    """The results of `fn` as tensors with their declared static shapes."""
    if tf.executing_eagerly():
        results = numpy_host.call(fn, [tf.convert_to_tensor(arg).numpy() for arg in args], outputs)
        return tuple(tf.constant(result) for result in results)

    errors = _tracing.errors

    def kept(*arrays: Any) -> Any:
        try:
            return list(numpy_host.call(fn, arrays, outputs))
        except BaseException as error:
            if errors is not None:
                errors.append(error)
            raise

    results = tf.numpy_function(kept, list(args), [tf.as_dtype(dtype) for dtype, _ in outputs])
    if not outputs:
        return ()
    for result, (_, shape) in zip(results, outputs, strict=True):
        result.set_shape(shape)
    return tuple(results)


def step(fn: Callable[..., Any], spaces: Sequence[Any]) -> Callable[..., Any]:
    """A function on nested numpy values, with these output spaces, as one on nested tensors."""
    boxes = [space.flatten() for space in spaces]
    outputs = [
        (box.dtype, [*(None for _ in box.ranks), *box.shape])
        for found in boxes
        for box in found.values()
    ]

    def run(*args: Any) -> Any:
        tensors: list[Any] = []

        def note(leaf: Any) -> Any:
            if not tf.is_tensor(leaf):
                return leaf
            tensors.append(leaf)
            return _Place(len(tensors) - 1)

        places = map_arrays(note, args)

        def on_arrays(*arrays: Any) -> list[Any]:
            result = fn(*map_arrays(lambda x: arrays[x] if type(x) is _Place else x, places))
            results = (result,) if len(spaces) == 1 else result or ()
            leaves = [flatten(value) for value in results]
            return [leaf[path] for leaf, found in zip(leaves, boxes, strict=True) for path in found]

        flat = iter(call(on_arrays, tensors, outputs))
        values = tuple([unflatten({path: next(flat) for path in found}) for found in boxes])
        return None if not values else values[0] if len(values) == 1 else values

    return run


class _Place(int):
    """Stands for a tensor among arguments that are none."""

    __slots__ = ()
