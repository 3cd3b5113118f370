"""Optimizer steps on arrays, in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class NumpyOptimizer:
    """Optimizer steps as operations."""

    @staticmethod
    def global_norm(tensors: Sequence[NDArray[Any]]) -> Any:
        return np.sqrt(sum(np.sum(np.square(x)) for x in tensors))

    @staticmethod
    def scale_all(tensors: Sequence[NDArray[Any]], factor: Any) -> list[NDArray[Any]]:
        return [x * factor for x in tensors]

    @staticmethod
    def adam(
        variables: Sequence[NDArray[Any]],
        gradients: Sequence[NDArray[Any]],
        first: Sequence[NDArray[Any]],
        second: Sequence[NDArray[Any]],
        step: NDArray[Any],
        *,
        learning_rate: Any,
        beta1: float,
        beta2: float,
        epsilon: float,
        weight_decay: float = 0.0,
    ) -> None:
        """Kingma and Ba (2015), with the decay of Loshchilov and Hutter (2019)."""
        np.add(step, 1, out=step)
        rate, steps = float(learning_rate), float(step)
        size = rate / (1.0 - beta1**steps)
        root = (1.0 - beta2**steps) ** 0.5
        for variable, gradient, m, v in zip(variables, gradients, first, second, strict=True):
            if weight_decay:
                variable *= 1.0 - rate * weight_decay
            m += (1.0 - beta1) * (gradient - m)
            v += (1.0 - beta2) * (gradient * gradient - v)
            variable -= size * m / (np.sqrt(v) / root + epsilon)
