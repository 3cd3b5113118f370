"""What recurrent layers share: steps and sequences, both orders of time, and fresh starts.

Why not a framework's own layer: those can't clear the state in the middle of a sequence, where an
episode begins. What does not depend on the state, the inputs' part of the matrix product, is
computed for all steps at once; the rest is a scan, or `ops.lstm`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.initializers import Initialized, InitializerSpec
from rlg.graph.core.component.ops import WIDE
from rlg.graph.limits import FiniteFloat, PositiveInt
from rlg.graph.spaces import Box, Dict, Space


class Recurrent(Initialized):
    """A layer with a state: one step on inputs with ranks B, a sequence on BT or TB.

    inputs: float [B, F], [B, T, F] or [T, B, F]; states: the state before the first step, of
    `state_space` (zeros if left out); resets: bool [B], [B, T] or [T, B], True where an episode
    begins: there the state is zeros. Returns outputs [..., units] and the last state.
    """

    # Number of blocks of `units` columns in the matrix.
    gates: int
    has_state = True

    def __init__(
        self,
        units: PositiveInt,
        kernel_init: InitializerSpec | None = None,
        bias_init: InitializerSpec | None = None,
    ) -> None:
        self.units = units
        self.kernel_init = kernel_init
        self.bias_init = bias_init
        # Learned by the build from the inputs' ranks.
        self._order: str | None = None

    @property
    def state_space(self) -> Space:
        """What `states` are."""
        raise NotImplementedError

    def create_variables(self, *, inputs: Space) -> None:
        if self.units < 1:
            raise ComponentError(f"{self.path}: units must be at least 1, got {self.units}.")
        if not isinstance(inputs, Box) or inputs.dtype != "float32" or len(inputs.shape) != 1:
            raise SpaceError(
                f"{self.path}: a recurrent layer takes float32 vectors, but `inputs` is {inputs}. "
                "Put a Flatten or a Scale layer before it."
            )
        self._features = inputs.shape[0]
        self._is_wide = self._features * self.gates * self.units >= WIDE
        self._kernel = self.variable(
            "kernel",
            (self._features + self.units, self.gates * self.units),
            value=self.kernel_values(self.units),
            trainable=True,
        )
        self._bias = self.variable(
            "bias",
            (self.gates * self.units,),
            value=self.bias_values(self.units),
            trainable=True,
        )

    def _spaces(self, inputs: Box, states: Space | None, resets: Box | None) -> tuple[Space, Space]:
        """Declared: a dry run sees tensors, which don't tell batch from time."""
        if inputs.ranks not in ("B", "BT", "TB"):
            raise SpaceError(
                f"{self.path}: `inputs` is {inputs}; give it ranks='B' for one step, 'BT' or 'TB' "
                "for sequences."
            )
        if len(inputs.ranks) == 2:
            if self._order not in (None, inputs.ranks):
                raise SpaceError(
                    f"{self.path}: sequences come as {self._order} and as {inputs.ranks}. Bring "
                    "all of them into one order, batch or time first."
                )
            self._order = inputs.ranks
        wanted = self.state_space
        if states is not None and not (states.like(wanted) and states.ranks == "B"):
            raise SpaceError(
                f"{self.path}: `states` is {states}; give {wanted}, as the layer's `state_space` "
                "says."
            )
        if resets is not None and (resets.dtype, resets.shape, resets.ranks) != (
            ("bool", (), inputs.ranks)
        ):
            raise SpaceError(
                f"{self.path}: `resets` is {resets}, but `inputs` is {inputs}. Give one bool for "
                f"each step: BoolBox(ranks={inputs.ranks!r})."
            )
        return Box((self.units,), ranks=inputs.ranks), wanted

    @api
    @graph_fn(spaces=_spaces, keeps_time=True)
    def call(
        self, inputs: Tensor, states: Tensor | None = None, resets: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        ops = self.ops
        is_sequence = len(ops.shape_of(inputs)) == 3
        is_batch_major = is_sequence and self._order == "BT"
        if is_batch_major:
            inputs = ops.transpose(inputs, (1, 0, 2))  # [T, B, F]
            resets = None if resets is None else ops.transpose(resets, (1, 0))
        if states is None:
            states = self._zeros(ops.axis_size(inputs, -2))
        rows = ops.fold_time(inputs) if is_sequence else inputs
        addmm = ops.addmm_wide if self._is_wide else ops.addmm
        x = addmm(self._biases(), rows, self._kernel[: self._features])  # [T * B, ...]
        recurrent = self._kernel[self._features :]
        if not is_sequence:
            return self._step(states, x, resets, recurrent)
        outputs, states = self._sequence(states, ops.unfold_time(x, inputs), resets, recurrent)
        return ops.transpose(outputs, (1, 0, 2)) if is_batch_major else outputs, states

    def _biases(self) -> Tensor:
        return self._bias

    def _zeros(self, batch: Any) -> Tensor:
        raise NotImplementedError

    def _step(
        self, states: Tensor, x: Tensor, resets: Tensor | None, recurrent: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Output and next state; `x`: the inputs' part of the product with the bias, [B, ...]."""
        raise NotImplementedError

    def _sequence(
        self, states: Tensor, x: Tensor, resets: Tensor | None, recurrent: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Outputs and the last state; `x` is [T, B, ...]."""

        def body(carry: Any, row: Any) -> tuple[Any, Any]:
            output, carry = self._step(carry, row[0], row[1], recurrent)
            return carry, output

        states, outputs = self.ops.scan(body, states, (x, resets))
        return outputs, states


class LSTMLayer(Recurrent):
    """Long short-term memory, Hochreiter and Schmidhuber (1997), forget gates as Gers et al.

    i, j, f, o = [x, h] @ kernel + bias; c' = sigmoid(f + forget_bias) c + sigmoid(i) tanh(j);
    h' = sigmoid(o) tanh(c'). States: Dict of c and h, [B, units] each; outputs: h'.
    """

    gates = 4

    def __init__(
        self,
        units: PositiveInt,
        forget_bias: FiniteFloat = 1.0,
        kernel_init: InitializerSpec | None = None,
        bias_init: InitializerSpec | None = None,
    ) -> None:
        super().__init__(units, kernel_init, bias_init)
        self.forget_bias = forget_bias

    @property
    def state_space(self) -> Dict:
        return Dict(c=Box((self.units,)), h=Box((self.units,)))

    def _biases(self) -> Tensor:
        gates = np.repeat([0.0, 0.0, self.forget_bias, 0.0], self.units)
        return self._bias + self.ops.constant(gates, "float32")

    def _zeros(self, batch: Any) -> Tensor:
        return {key: self.ops.zeros((batch, self.units)) for key in "ch"}

    def _step(
        self, states: Tensor, x: Tensor, resets: Tensor | None, recurrent: Tensor
    ) -> tuple[Tensor, Tensor]:
        c, h = self.ops.lstm_step(x, recurrent, states["c"], states["h"], resets)
        return h, {"c": c, "h": h}

    def _sequence(
        self, states: Tensor, x: Tensor, resets: Tensor | None, recurrent: Tensor
    ) -> tuple[Tensor, Tensor]:
        outputs, c, h = self.ops.lstm(x, recurrent, states["c"], states["h"], resets)
        return outputs, {"c": c, "h": h}


class GRULayer(Recurrent):
    """Gated recurrent units, Cho et al. (2014), with the reset after the product, as in torch.

    r, z = sigmoid([x, h] @ kernel + bias); n = tanh(x @ kernel_n + bias_n + r * (h @ recurrent_n +
    recurrent_bias)); h' = (1 - z) n + z h. States: h, [B, units]; outputs: h'.
    """

    gates = 3

    def create_variables(self, *, inputs: Space) -> None:
        super().create_variables(inputs=inputs)
        self._recurrent_bias = self.variable(
            "recurrent_bias", (self.units,), value=self.bias_values(self.units), trainable=True
        )

    @property
    def state_space(self) -> Box:
        return Box((self.units,))

    def _zeros(self, batch: Any) -> Tensor:
        return self.ops.zeros((batch, self.units))

    def _step(
        self, states: Tensor, x: Tensor, resets: Tensor | None, recurrent: Tensor
    ) -> tuple[Tensor, Tensor]:
        ops, h = self.ops, states
        if resets is not None:
            h = ops.where(ops.expand_dims(resets, -1), 0.0, h)
        mixed = ops.split(ops.matmul(h, recurrent), 3, -1)
        r, z, n = ops.split(x, 3, -1)  # [B, units] each
        r, z = ops.sigmoid(r + mixed[0]), ops.sigmoid(z + mixed[1])
        n = ops.tanh(n + r * (mixed[2] + self._recurrent_bias))
        h = n + z * (h - n)
        return h, h
