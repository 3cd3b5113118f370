"""Networks that remember: features of each step, then a recurrent layer over them."""

from __future__ import annotations

from typing import Any

from rlg.graph import Component, api
from rlg.graph.components.layers.recurrent import GRULayer, LSTMLayer, Recurrent
from rlg.graph.registry import make
from rlg.graph.spaces import Space


class RecurrentNetwork(Component):
    """A `network` for the features of each step (None: the inputs are features), then a layer.

    `unroll` takes and gives states, as the layer does; `call` starts from zeros and gives outputs
    alone, so that it stands in front of any policy. inputs: what the network takes, with ranks B
    for one step or BT, TB for sequences; outputs: [..., units].
    """

    def __init__(self, layer: Recurrent, network: Any = None) -> None:
        self.layer = layer
        self.network = None if network is None else make(network)

    @property
    def state_space(self) -> Space:
        """What `states` are."""
        return self.layer.state_space

    @api
    def call(self, inputs: Any) -> Any:
        outputs, _ = self.unroll(inputs)
        return outputs

    @api
    def unroll(self, inputs: Any, states: Any = None, resets: Any = None) -> Any:
        features = inputs if self.network is None else self.network.call(inputs)
        return self.layer.call(features, states, resets)


class LSTM(RecurrentNetwork):
    """Features, then an `lstm_layer`; states: Dict of c and h, [B, units] each."""

    def __init__(self, network: Any = None, units: int = 256, forget_bias: float = 1.0) -> None:
        super().__init__(LSTMLayer(units, forget_bias), network)
        self.units = units
        self.forget_bias = forget_bias


class GRU(RecurrentNetwork):
    """Features, then a `gru_layer`; states: [B, units]."""

    def __init__(self, network: Any = None, units: int = 256) -> None:
        super().__init__(GRULayer(units), network)
        self.units = units
