"""Loops and branches as nodes of the graph; in eager mode they are Python's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from rlg.backends.numpy.regions import PythonRegions, Tree, common_length, leaves, rebuild
from rlg.backends.tf import host
from rlg.errors import BackendError

Body = Callable[[Tree, Tree], tuple[Tree, Tree]]


class TFRegions(PythonRegions):
    """`scan`, `cond` and `host` on tensors."""

    host = staticmethod(host.call)

    def scan(
        self, body: Body, carry: Tree, xs: Tree, length: Any | None = None
    ) -> tuple[Tree, Tree]:
        """The body is traced once, as a function that the loop calls (TensorFlow inlines it)."""
        if tf.executing_eagerly():
            return super().scan(body, carry, rebuild(xs, map(as_tensor, leaves(xs))), length)
        start = [as_tensor(leaf) for leaf in leaves(carry)]
        columns = [as_tensor(leaf) for leaf in leaves(xs)]
        static, steps = _steps(columns, length)
        step = _Step(body, carry, xs, start, columns)
        inputs = [
            tf.TensorArray(x.dtype, size=steps, element_shape=x.shape[1:]).unstack(x)
            for x in columns
        ]
        outputs = [tf.TensorArray(y.dtype, size=steps, element_shape=y.shape) for y in step.outputs]

        def once(t: Any, state: Any, written: Any) -> Any:
            state, ys = step(state, [array.read(t) for array in inputs])
            return t + 1, state, [array.write(t, y) for array, y in zip(written, ys, strict=True)]

        shapes = [tf.TensorShape(spec.shape) for spec in step.carry_specs]
        _, final, written = tf.while_loop(
            lambda t, *_: t < steps,
            once,
            (tf.constant(0), start, outputs),
            (tf.TensorShape([]), shapes, [tf.TensorShape([]) for _ in outputs]),
            parallel_iterations=1,
        )
        stacked = [array.stack() for array in written]
        for y in stacked:
            y.set_shape([static, *y.shape[1:]])
        return rebuild(carry, iter(final)), rebuild(step.y_template, iter(stacked))

    @staticmethod
    def cond(predicate: Any, when_true: Callable[[], Tree], when_false: Callable[[], Tree]) -> Tree:
        if tf.executing_eagerly() or not tf.is_tensor(predicate):
            return when_true() if predicate else when_false()
        template: list[Tree] = []

        def branch(fn: Callable[[], Tree]) -> Callable[[], list[tf.Tensor]]:
            def run() -> list[tf.Tensor]:
                tree = fn()
                template.append(tree)
                return [as_tensor(leaf) for leaf in leaves(tree)]

            return run

        results = tf.cond(predicate, branch(when_true), branch(when_false))
        return rebuild(template[0], iter(results or ()))


class _Step:
    """The body of a scan as a traced function of flat lists of tensors."""

    def __init__(
        self, body: Body, carry: Tree, xs: Tree, start: Sequence[Any], columns: Sequence[Any]
    ) -> None:
        self._body, self._carry, self._xs = body, carry, xs
        self.y_template: Tree = None
        self.carry_specs = [tf.TensorSpec(leaf.shape, leaf.dtype) for leaf in start]
        x_specs = [tf.TensorSpec(x.shape[1:], x.dtype) for x in columns]
        # A size that the body forgets is unknown at its entry too: trace again with what is left.
        while True:
            traced = tf.function(self._run, autograph=False)
            self._call = traced.get_concrete_function(self.carry_specs, x_specs)
            final, self.outputs = self._call.structured_outputs
            specs = list(map(_relaxed, self.carry_specs, final))
            if specs == self.carry_specs:
                return
            self.carry_specs = specs

    def __call__(self, state: Any, x: Any) -> Any:
        return self._call(list(state), list(x))

    def _run(self, state: Any, x: Any) -> Any:
        carry, y = self._body(rebuild(self._carry, iter(state)), rebuild(self._xs, iter(x)))
        self.y_template = y
        final = [as_tensor(leaf) for leaf in leaves(carry)]
        if len(final) != len(state):
            raise BackendError(
                f"scan: the carry has {len(state)} leaves, but the body gives {len(final)}."
            )
        return final, [as_tensor(leaf) for leaf in leaves(y)]


def as_tensor(value: Any) -> tf.Tensor:
    """Variables are read; Python's ints are int64 and its floats float32, as everywhere."""
    if isinstance(value, int) and not isinstance(value, bool):
        return tf.constant(value, tf.int64)
    return tf.convert_to_tensor(value)


def _relaxed(spec: tf.TensorSpec, leaf: Any) -> tf.TensorSpec:
    if leaf.dtype != spec.dtype:
        raise BackendError(
            f"scan: a leaf of the carry enters as {spec.dtype.name}, but leaves as "
            f"{leaf.dtype.name}."
        )
    return spec.most_specific_common_supertype([tf.TensorSpec(leaf.shape, leaf.dtype)])


def _steps(columns: Sequence[Any], length: Any | None) -> tuple[int | None, Any]:
    """The number of steps: static where it is known, and as the loop counts it."""
    sizes = [x.shape[0] for x in columns]
    if isinstance(length, int):
        static = common_length(sizes, length)
    else:
        static = common_length(sizes if length is None else [*sizes, None], None)
    if static is not None:
        return static, static
    return None, tf.shape(columns[0])[0] if columns else tf.cast(length, tf.int32)
