"""Variables: `tf.Variable`, made where the caller stands (eagerly, or inside of a `tf.Graph`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from rlg.backends.numpy.state import uniform_value
from rlg.backends.tf import devices
from rlg.graph.core.component.ops import Tensor, Variable

SMALL = 2**18  # bytes that are sent between tasks in less time than asking for them takes


class TFState:
    """Reading and writing variables."""

    def variable(
        self,
        value: NDArray[Any],
        *,
        trainable: bool = False,
        layout: str | None = None,
        like: Variable | None = None,
        path: str = "variable",
    ) -> Variable:
        """Lies on the device in force (`with tf.device(...)`)."""
        value = np.asarray(value)
        number = uniform_value(value)
        with tf.init_scope():  # Outside of functions that are being traced.
            # A broadcast as a constant would be in the graph with its full size.
            initial = tf.constant(value) if number is None else tf.fill(value.shape, number)
            return tf.Variable(initial, trainable=trainable, name=path)

    @staticmethod
    def assign(variable: Variable, value: Tensor | float) -> None:
        variable.assign(_spread(value, variable, variable.shape), read_value=False)

    @staticmethod
    def assign_add(variable: Variable, value: Tensor | float) -> None:
        variable.assign_add(_spread(value, variable, variable.shape), read_value=False)

    def assign_all(self, variables: Sequence[Variable], values: Sequence[Tensor]) -> None:
        """Of values on another task of a cluster the small ones are sent as one: each transfer
        costs more than they do.
        """
        together: dict[Any, list[tuple[Variable, Tensor]]] = {}
        for variable, value in zip(variables, values, strict=True):
            where = value.device or ""
            is_near = devices.task_of(where) in ("", devices.task_of(variable.device))
            if is_near or variable.shape.num_elements() * variable.dtype.size > SMALL:
                self.assign(variable, value)
            else:
                together.setdefault((where, variable.dtype), []).append((variable, value))
        for (where, _), pairs in together.items():
            with tf.device(where):
                joined = tf.concat([tf.reshape(value, [-1]) for _, value in pairs], 0)
            parts = tf.split(joined, [variable.shape.num_elements() for variable, _ in pairs])
            for (variable, _), part in zip(pairs, parts, strict=True):
                self.assign(variable, tf.reshape(part, variable.shape))

    @staticmethod
    def scatter_rows(variable: Variable, rows: Tensor, values: Tensor | float) -> None:
        values = tf.convert_to_tensor(values, variable.dtype)
        if values.shape.rank == 0:
            rest = tf.constant(variable.shape[1:].as_list(), tf.int64)
            values = tf.broadcast_to(values, tf.concat([tf.shape(rows, tf.int64), rest], 0))
        # The kernel goes through the rows one after the other, so the last of equal ones wins.
        tf.raw_ops.ResourceScatterUpdate(resource=variable.handle, indices=rows, updates=values)

    @staticmethod
    def value_of(variable: Variable) -> Tensor:
        return tf.identity(variable)


def _spread(value: Tensor | float, variable: Variable, shape: tf.TensorShape) -> Tensor:
    """A scalar for the whole variable."""
    value = tf.convert_to_tensor(value, variable.dtype)
    return tf.fill(shape, value) if value.shape.rank == 0 and shape.rank else value
