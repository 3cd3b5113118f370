"""Components that are wrong in one way each, as users write them; a plugin for `rlg`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlg.graph import Component, Static, Tensor, api, graph_fn, host_fn
from rlg.graph.registry import register
from rlg.graph.spaces import Box, FloatBox


def is_torch(x: Any) -> bool:
    return hasattr(x, "detach")


class Scaled(Component):
    """Right: a trainable factor and a number of calls, both variables."""

    def __init__(self, factor: float = 2.0) -> None:
        self.factor = factor

    def create_variables(self, *, inputs: Box) -> None:
        self._w = self.variable("w", inputs.shape, value=self.factor, trainable=True)
        self._calls = self.variable("calls", dtype="int64")

    @api
    @graph_fn
    def call(self, inputs: Tensor, explore: Static[bool] = True) -> Tensor:
        outputs = self.outputs(inputs)
        return outputs + 1.0 if explore else outputs

    @api
    @graph_fn
    def count(self) -> None:
        self.ops.assign_add(self._calls, 1)

    def outputs(self, inputs: Tensor) -> Tensor:
        return inputs * self._w


class OtherOnTorch(Scaled):
    """Its outputs differ on torch by a thousandth."""

    def outputs(self, inputs: Tensor) -> Tensor:
        return inputs * self._w * (1.001 if is_torch(inputs) else 1.0)


class InfiniteOnTorch(Scaled):
    """Its outputs are no numbers on torch."""

    def outputs(self, inputs: Tensor) -> Tensor:
        return inputs * self._w / (0.0 if is_torch(inputs) else 1.0)


class Reused(Scaled):
    """A host function that writes into the array that it returned last time."""

    def create_variables(self, *, inputs: Box) -> None:
        super().create_variables(inputs=inputs)
        self._buffer = np.zeros(3, "float32")

    def _three(self) -> Any:
        return Box((3,), ranks="")

    @api
    @host_fn(spaces=_three)
    def steps(self) -> Tensor:
        self._buffer += 1.0
        return self._buffer

    @api
    @host_fn(spaces=_three)
    def more_steps(self) -> Tensor:
        self._buffer += 2.0
        return self._buffer


class OtherStateOnTorch(Scaled):
    """Its variables differ on torch, and no output shows it."""

    @api
    @graph_fn
    def count(self) -> None:
        self.ops.assign_add(self._calls, 2 if is_torch(self._w) else 1)


class CutOnTorch(Scaled):
    """torch sees a constant where the others see a variable."""

    def outputs(self, inputs: Tensor) -> Tensor:
        return inputs * (self._w.detach() if is_torch(inputs) else self._w)


class SkewedOnTorch(Scaled):
    """torch's gradient by the factor is a hundredth too large, and the outputs are the same."""

    excess = 0.01

    def outputs(self, inputs: Tensor) -> Tensor:
        w = self._w
        if is_torch(inputs):
            w = w + self.excess * (w - w.detach())
        return inputs * w


class TwofoldOnTorch(SkewedOnTorch):
    """torch's gradient by the factor is twice as large."""

    excess = 1.0


class CutInputsOnTorch(Scaled):
    """torch lets no gradient through to the inputs."""

    def outputs(self, inputs: Tensor) -> Tensor:
        return (inputs.detach() if is_torch(inputs) else inputs) * self._w


class HeldBack(Scaled):
    """Right: what it means to be constant is constant on every backend."""

    def outputs(self, inputs: Tensor) -> Tensor:
        return inputs * self.ops.stop_gradient(self._w * inputs)


class Forgetful(Scaled):
    """Counts in Python, where no state is saved from."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def outputs(self, inputs: Tensor) -> Tensor:
        self.seen += 1
        return inputs * self._w + float(self.seen)


class Hidden(Scaled):
    """Draws random numbers that nobody knows of."""

    generator = np.random.default_rng(0)

    def outputs(self, inputs: Tensor) -> Tensor:
        return inputs * self._w * float(self.generator.random())


class Unbounded(Component):
    """Says that it gives shares, and gives twice as much."""

    def _shares(self, inputs: Box) -> Box:
        return FloatBox(0.0, 1.0, inputs.shape)

    @api
    @graph_fn(spaces=_shares)
    def call(self, inputs: Tensor) -> Tensor:
        return 2.0 * self.ops.softmax(inputs)


class Squeezed(Component):
    """Loses the batch if that is one row."""

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        return inputs.squeeze()


class Branching(Component):
    """Asks a tensor in Python, which TensorFlow can't trace."""

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        return inputs if self.ops.sum(inputs) > 0.0 else -inputs


class Centred(Component):
    """Calls a method of tensors that TensorFlow's don't have."""

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        return inputs - inputs.mean()


class Steep(Component):
    """A root at zero has no slope."""

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        return self.ops.sqrt(0.0 * inputs)


class Powered(Component):
    """Right: an exponent that a call must give."""

    @api
    @graph_fn
    def call(self, inputs: Tensor, exponent: Static[int]) -> Tensor:
        return inputs**exponent


class TorchOnly(Scaled):
    """Written for torch alone."""

    backends = ("torch",)


class CutTorchOnly(CutOnTorch):
    """Written for torch alone, and cut."""

    backends = ("torch",)


class Failing(Scaled):
    """Can be built, and fails when it is called on torch."""

    def outputs(self, inputs: Tensor) -> Tensor:
        if is_torch(inputs) and inputs.any():  # the dry run is on zeros
            raise RuntimeError("no room")
        return inputs * self._w


WRONG = {
    "other_on_torch": OtherOnTorch,
    "other_state_on_torch": OtherStateOnTorch,
    "cut_on_torch": CutOnTorch,
    "cut_inputs_on_torch": CutInputsOnTorch,
    "skewed_on_torch": SkewedOnTorch,
    "twofold_on_torch": TwofoldOnTorch,
    "forgetful": Forgetful,
    "hidden_randomness": Hidden,
    "unbounded": Unbounded,
    "reused": Reused,
    "squeezed": Squeezed,
    "branching": Branching,
    "centred": Centred,
    "steep": Steep,
    "cut_torch_only": CutTorchOnly,
    "failing_on_torch": Failing,
    "infinite_on_torch": InfiniteOnTorch,
}
RIGHT = {"scaled": Scaled, "held_back": HeldBack, "torch_only": TorchOnly, "powered": Powered}
for name, cls in {**WRONG, **RIGHT}.items():
    register(f"check_{name}", cls)
