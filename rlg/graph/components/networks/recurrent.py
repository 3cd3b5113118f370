"""Recurrent networks: features of each step, then a recurrent layer over them."""

from __future__ import annotations

from typing import Any

from rlg.graph import Component, Static, api
from rlg.graph.components.initializers import InitializerSpec
from rlg.graph.components.layers.recurrent import GRULayer, LSTMLayer, Recurrent
from rlg.graph.components.networks.stack import accepted
from rlg.graph.limits import FiniteFloat, PositiveInt
from rlg.graph.registry import make
from rlg.graph.spaces import Space


class RecurrentNetwork(Component):
    """A `network` for the features of each step (None: the inputs are features), then a layer.

    `unroll` takes and returns states, as the layer does; `call` starts from zeros and returns
    outputs alone, so that it stands in front of any policy. inputs: what the network takes, with
    ranks B for one step or BT, TB for sequences; outputs: [..., units]; update, noise: as a
    `stack` takes them.
    """

    def __init__(self, layer: Recurrent, network: Any = None) -> None:
        self.layer = layer
        self.network = None if network is None else make(network)

    @property
    def state_space(self) -> Space:
        """What `states` are."""
        return self.layer.state_space

    @api
    def call(self, inputs: Any, update: Static[bool] = False, noise: Static[bool] = False) -> Any:
        outputs, _ = self.unroll(inputs, update=update, noise=noise)
        return outputs

    @api
    def unroll(
        self,
        inputs: Any,
        states: Any = None,
        resets: Any = None,
        update: Static[bool] = False,
        noise: Static[bool] = False,
    ) -> Any:
        if self.network is not None:
            inputs = self.network.call(inputs, **accepted(self.network, update=update, noise=noise))
        return self.layer.call(inputs, states, resets)


class LSTM(RecurrentNetwork):
    """Features, then an `lstm_layer`; states: Dict of c and h, [B, units] each."""

    def __init__(
        self,
        network: Any = None,
        units: PositiveInt = 256,
        forget_bias: FiniteFloat = 1.0,
        kernel_init: InitializerSpec | None = None,
        bias_init: InitializerSpec | None = None,
    ) -> None:
        super().__init__(LSTMLayer(units, forget_bias, kernel_init, bias_init), network)
        self.units = units
        self.forget_bias = forget_bias
        self.kernel_init = kernel_init
        self.bias_init = bias_init


class GRU(RecurrentNetwork):
    """Features, then a `gru_layer`; states: [B, units]."""

    def __init__(
        self,
        network: Any = None,
        units: PositiveInt = 256,
        kernel_init: InitializerSpec | None = None,
        bias_init: InitializerSpec | None = None,
    ) -> None:
        super().__init__(GRULayer(units, kernel_init, bias_init), network)
        self.units = units
        self.kernel_init = kernel_init
        self.bias_init = bias_init
