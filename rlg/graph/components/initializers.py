"""Initial values of kernels and biases: functions of a numpy generator and a shape, named by specs.

A spec is a name, or a mapping with `type` and options: `{type: orthogonal, gain: 1.41}`. The fans
of a kernel are those of a matrix [inputs, outputs] or of an HWIO convolution.

Published algorithms are published with their initial values. What a layer's `kernel_init` and
`bias_init` leave open (None), a `Recipe` decides: the one that its algorithm recommends, else its
network's, else Glorot's.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlg.errors import SpecError
from rlg.graph import Component
from rlg.graph.core.component.component import walk
from rlg.spelling import suggestion

Shape: TypeAlias = tuple[int, ...]
Initializer: TypeAlias = Callable[[np.random.Generator, Shape], NDArray[Any]]
InitializerSpec: TypeAlias = str | Mapping[str, Any]


def initializer(spec: InitializerSpec, fan_in: int | None = None) -> Initializer:
    """The function behind a spec, or a SpecError that lists what there is.

    `fan_in` is known for biases, whose shape doesn't tell it.
    """
    words: dict[str, Any] = {"type": spec} if isinstance(spec, str) else dict(spec)
    name = words.pop("type", None)
    if name not in INITIALIZERS:
        raise SpecError(
            f"there is no initializer {name!r}.{suggestion(str(name), INITIALIZERS)} "
            f"Known: {', '.join(INITIALIZERS)}."
        )
    function = INITIALIZERS[name]
    options = options_of(name)
    for word in words:
        if word not in options:
            raise SpecError(
                f"the initializer {name!r} has no option {word!r}. "
                f"Options: {', '.join(options) or 'none'}."
            )
    if fan_in is not None and "fan_in" in _arguments(name):
        words["fan_in"] = fan_in
    return partial(function, **words)


def options_of(name: str) -> list[str]:
    """What a spec may say beside the name."""
    return [word for word in _arguments(name) if word != "fan_in"]


@cache
def _arguments(name: str) -> list[str]:
    return list(inspect.signature(INITIALIZERS[name]).parameters)[2:]


@dataclass(frozen=True)
class Recipe:
    """Initial values of a whole network; `recurrent` is that of layers with a state, if another."""

    kernel: InitializerSpec = "glorot_uniform"
    bias: InitializerSpec = "zeros"
    recurrent: Recipe | None = None


class Initialized(Component):
    """A layer with kernels and biases: its own arguments come first, then the recipe."""

    kernel_init: InitializerSpec | None
    bias_init: InitializerSpec | None
    recipe: Recipe = Recipe()
    has_state: bool = False

    def kernel_values(self, fan_in: int | None = None) -> Initializer:
        """What `variable(value=...)` takes for a kernel."""
        return initializer(self.kernel_init or self._recipe.kernel, fan_in)

    def bias_values(self, fan_in: int) -> Initializer:
        """What `variable(value=...)` takes for biases behind a kernel of this fan."""
        return initializer(self.bias_init or self._recipe.bias, fan_in)

    @property
    def _recipe(self) -> Recipe:
        return self.recipe.recurrent or self.recipe if self.has_state else self.recipe


def recommend(recipe: Recipe, component: Component) -> None:
    """Sets the recipe of all layers in a component; an algorithm's replaces its network's."""
    for part in walk(component):
        if isinstance(part, Initialized):
            part.recipe = recipe


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


def fan_in_uniform(
    generator: np.random.Generator, shape: Shape, fan_in: int | None = None
) -> NDArray[Any]:
    """Uniform within 1 / sqrt(fan in), biases too, as torch does: LeCun et al. (1998)."""
    return _uniform(generator, shape, 1.0 / math.sqrt(fan_in or fans(shape)[0]))


def fan_in_truncated_normal(
    generator: np.random.Generator, shape: Shape, fan_in: int | None = None
) -> NDArray[Any]:
    """Normal with deviation 1 / sqrt(fan in), drawn again beyond two of them, as Sonnet does."""
    numbers = generator.standard_normal(shape, dtype=np.float32)
    while (far := np.abs(numbers) > 2.0).any():
        numbers[far] = generator.standard_normal(int(far.sum()), dtype=np.float32)
    numbers /= np.float32(math.sqrt(fan_in or fans(shape)[0]))
    return numbers


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
    "fan_in_uniform": fan_in_uniform,
    "fan_in_truncated_normal": fan_in_truncated_normal,
    "orthogonal": orthogonal,
    "zeros": zeros,
    "constant": constant,
}

# Those of torch's layers, which Mnih et al. (2015) and Stable-Baselines3's DQN and SAC start from.
TORCH = Recipe("fan_in_uniform", "fan_in_uniform")
# Those of Sonnet's layers and TensorFlow's LSTM, which Espeholt et al. (2018) start from.
SONNET = Recipe("fan_in_truncated_normal", "zeros", Recipe())


def orthogonal_recipe(gain: float) -> Recipe:
    """Orthogonal kernels, no biases, recurrent layers as torch's: PPO and A2C by their authors."""
    return Recipe({"type": "orthogonal", "gain": gain}, "zeros", TORCH)
