"""Optimizer steps by TensorFlow's fused kernels, with torch's formulas."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import tensorflow as tf

from rlg.graph.core.component.ops import Tensor, Variable


class TFOptimizer:
    """Optimizer steps as operations."""

    @staticmethod
    def global_norm(tensors: Sequence[Tensor]) -> Tensor:
        return tf.linalg.global_norm(list(tensors))

    @staticmethod
    def scale_all(tensors: Sequence[Tensor], factor: Tensor) -> list[Tensor]:
        return [x * factor for x in tensors]

    @staticmethod
    def adam(
        variables: Sequence[Variable],
        gradients: Sequence[Tensor],
        first: Sequence[Variable],
        second: Sequence[Variable],
        step: Variable,
        *,
        learning_rate: Tensor | float,
        beta1: float,
        beta2: float,
        epsilon: float,
        weight_decay: float = 0.0,
    ) -> None:
        """The kernel adds epsilon before it corrects the second moment, torch after it.

        So the corrections are made here, in float64, and the kernel is told that there are none
        (powers of beta that are zero).
        """
        step.assign_add(1.0, read_value=False)
        rate, steps = tf.cast(learning_rate, tf.float64), tf.cast(step, tf.float64)

        @cache  # Variables mostly have one dtype: half of an update's operations would be these.
        def corrected(dtype: tf.DType) -> dict[str, Tensor]:
            # The betas as the kernel sees them, rounded to its dtype.
            b1, b2 = (float(np.asarray(b, dtype.as_numpy_dtype)) for b in (beta1, beta2))
            root = tf.sqrt(1.0 - tf.pow(tf.constant(b2, tf.float64), steps))
            size = rate * root / (1.0 - tf.pow(tf.constant(b1, tf.float64), steps))
            zero = tf.zeros((), dtype)
            return {
                "beta1_power": zero,
                "beta2_power": zero,
                "lr": tf.cast(size, dtype),
                "beta1": tf.constant(b1, dtype),
                "beta2": tf.constant(b2, dtype),
                "epsilon": tf.cast(epsilon * root, dtype),
            }

        for variable, gradient, m, v in zip(variables, gradients, first, second, strict=True):
            dtype = variable.dtype
            if weight_decay:
                decay = tf.cast(1.0 - rate * weight_decay, dtype)
                variable.assign(variable * decay, read_value=False)
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle, m=m.handle, v=v.handle, grad=gradient, **corrected(dtype)
            )
