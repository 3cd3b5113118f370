"""Initial values of kernels and biases: functions of a numpy generator and a shape, named by specs.

A spec is a name, or a mapping with `type` and options: `{type: orthogonal, gain: 1.41}`. The fans
of a kernel are those of a matrix [inputs, outputs] or of an HWIO convolution.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlg.errors import SpecError
from rlg.spelling import suggestion

Shape: TypeAlias = tuple[int, ...]
Initializer: TypeAlias = Callable[[np.random.Generator, Shape], NDArray[Any]]
InitializerSpec: TypeAlias = str | Mapping[str, Any]


def initializer(spec: InitializerSpec) -> Initializer:
    """The function behind a spec, or a SpecError that lists what there is."""
    words = {"type": spec} if isinstance(spec, str) else dict(spec)
    name = words.pop("type", None)
    if name not in INITIALIZERS:
        raise SpecError(
            f"there is no initializer {name!r}.{suggestion(str(name), INITIALIZERS)} "
            f"Known: {', '.join(INITIALIZERS)}."
        )
    function = INITIALIZERS[name]
    options = list(inspect.signature(function).parameters)[2:]
    for word in words:
        if word not in options:
            raise SpecError(
                f"the initializer {name!r} has no option {word!r}. "
                f"Options: {', '.join(options) or 'none'}."
            )
    return partial(function, **words)


def fans(shape: Shape) -> tuple[int, int]:
    """How many numbers go into and come out of one unit of a kernel."""
    if len(shape) < 2:
        raise SpecError(
            f"this initializer is for kernels, of two or more axes; here the shape is {shape}. "
            "Use zeros or constant."
        )
    window = math.prod(shape[:-2])
    return window * shape[-2], window * shape[-1]


def glorot_uniform(generator: np.random.Generator, shape: Shape) -> NDArray[Any]:
    """Glorot and Bengio (2010): equal variance forwards and backwards."""
    return _uniform(generator, shape, math.sqrt(6.0 / sum(fans(shape))))


def he_uniform(generator: np.random.Generator, shape: Shape) -> NDArray[Any]:
    """He et al. (2015): for rectified units."""
    return _uniform(generator, shape, math.sqrt(6.0 / fans(shape)[0]))


def _uniform(generator: np.random.Generator, shape: Shape, limit: float) -> NDArray[Any]:
    # In float32 from the start: large kernels are a good part of a build's time.
    numbers = generator.random(shape, dtype=np.float32)
    numbers *= np.float32(2.0 * limit)
    numbers -= np.float32(limit)
    return numbers


def orthogonal(generator: np.random.Generator, shape: Shape, gain: float = 1.0) -> NDArray[Any]:
    """Saxe et al. (2014): rows or columns, whichever are fewer, are orthogonal, `gain` long."""
    fan_in, _ = fans(shape)
    rows, columns = fan_in, shape[-1]
    normal = generator.standard_normal((max(rows, columns), min(rows, columns)))
    basis, triangle = np.linalg.qr(normal)
    basis = basis * np.sign(np.diag(triangle))  # Without it the draw is not uniform.
    matrix: NDArray[Any] = basis if rows >= columns else basis.T
    return gain * matrix.reshape(shape)


def zeros(generator: np.random.Generator, shape: Shape) -> NDArray[Any]:
    """All zero."""
    return np.zeros(shape)


def constant(generator: np.random.Generator, shape: Shape, value: float = 0.0) -> NDArray[Any]:
    """All equal."""
    return np.full(shape, value)


INITIALIZERS: dict[str, Callable[..., NDArray[Any]]] = {
    "glorot_uniform": glorot_uniform,
    "he_uniform": he_uniform,
    "orthogonal": orthogonal,
    "zeros": zeros,
    "constant": constant,
}
