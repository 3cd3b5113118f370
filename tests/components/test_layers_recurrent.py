"""LSTM and GRU by torch's own layers: values, resets, both orders of time, gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rlg.errors import BackendError, ComponentError, RLGError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.layers.recurrent import GRULayer, LSTMLayer
from rlg.graph.components.networks.mlp import MLP
from rlg.graph.components.networks.recurrent import GRU, LSTM
from rlg.graph.components.optimizers.sgd import SGD
from rlg.graph.components.policies.q import QPolicy
from rlg.graph.spaces import BoolBox, Box, Dict, IntBox
from rlg.testing import ComponentTest
from rlg.testing.component_test import compare

STEPS, BATCH, FEATURES, UNITS = 5, 3, 4, 2
RNG = np.random.default_rng(5)
INPUTS = RNG.normal(size=(STEPS, BATCH, FEATURES)).astype("float32")
RESETS = np.zeros((STEPS, BATCH), bool)
RESETS[0, 1] = RESETS[2, 0] = RESETS[3, 0] = RESETS[4, 2] = True
STATE = RNG.normal(size=(2, BATCH, UNITS)).astype("float32")
TARGETS = RNG.normal(size=(STEPS, BATCH, UNITS)).astype("float32")
LAYERS = {"lstm": LSTMLayer, "gru": GRULayer}
kinds = pytest.mark.parametrize("kind", LAYERS)
orders = pytest.mark.parametrize("order", ["TB", "BT"])
pairs = pytest.mark.parametrize(("kind", "order"), [("lstm", "BT"), ("gru", "TB")])


def weights(kind: str) -> dict[str, np.ndarray]:
    gates, rng = {"lstm": 4, "gru": 3}[kind], np.random.default_rng(1)
    shapes = {"kernel": (FEATURES + UNITS, gates * UNITS), "bias": (gates * UNITS,)}
    if kind == "gru":
        shapes["recurrent_bias"] = (UNITS,)
    return {name: rng.normal(size=shape).astype("float32") for name, shape in shapes.items()}


def states(kind: str) -> Any:
    return {"c": STATE[0], "h": STATE[1]} if kind == "lstm" else STATE[0]


def blocks(matrix: Any, kind: str) -> list[Any]:
    """Columns in torch's order of gates: i, f, g, o for ours, i, j, f, o."""
    parts = np.split(np.asarray(matrix), 4 if kind == "lstm" else 3, -1)
    return [parts[0], parts[2], parts[1], parts[3]] if kind == "lstm" else parts


def torch_layer(kind: str, forget_bias: float = 1.0) -> Any:
    """Torch's layer with our weights."""
    ours = weights(kind)
    layer = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[kind](FEATURES, UNITS)
    bias = blocks(ours["bias"], kind)
    hidden = [np.zeros(UNITS)] * len(bias)
    if kind == "lstm":
        bias[1] = bias[1] + forget_bias
    else:
        hidden[2] = ours["recurrent_bias"]
    kernel = np.concatenate(blocks(ours["kernel"], kind), -1).T  # [gates * units, F + units]
    values = (kernel[:, :FEATURES], kernel[:, FEATURES:], np.concatenate(bias))
    with torch.no_grad():
        for parameter, value in zip(
            layer.parameters(), (*values, np.concatenate(hidden)), strict=True
        ):
            parameter.copy_(torch.as_tensor(value))
    return layer


def by_torch(kind: str, with_states: bool = True, resets: Any = None) -> tuple[Any, Any, Any]:
    """Outputs, states and the layer; resets cut each row into sequences that start from zeros."""
    layer, outputs, finals = torch_layer(kind), [], []
    for row in range(BATCH):
        cuts = [] if resets is None else [t for t in range(1, STEPS) if resets[t, row]]
        is_fresh = not with_states or (resets is not None and resets[0, row])
        state = None if is_fresh else torch.as_tensor(STATE[:, None, row])
        if kind == "lstm" and state is not None:
            state = (state[1][None].contiguous(), state[0][None].contiguous())  # (h, c)
        elif state is not None:
            state = state[0][None].contiguous()
        pieces = []
        for start, stop in zip([0, *cuts], [*cuts, STEPS], strict=True):
            out, state = layer(torch.as_tensor(INPUTS[start:stop, row, None]), state)
            pieces.append(out)
            final, state = state, None
        outputs.append(torch.cat(pieces))
        finals.append(final)
    if kind == "lstm":
        after: Any = {
            "c": torch.cat([c[0] for _, c in finals]),
            "h": torch.cat([h[0] for h, _ in finals]),
        }
        after = {key: value.detach().numpy() for key, value in after.items()}
    else:
        after = torch.cat([h[0] for h in finals]).detach().numpy()
    return torch.cat(outputs, 1), after, layer


def built(kind: str, backend: str, ranks: str = "TB") -> ComponentTest:
    layer = LAYERS[kind](UNITS)
    spaces = {
        "inputs": Box((FEATURES,), ranks=ranks),
        "states": layer.state_space,
        "resets": BoolBox(ranks=ranks),
    }
    test = ComponentTest(layer, spaces, backend)
    test.write(weights(kind))
    return test


def major(x: np.ndarray, order: str) -> np.ndarray:
    return x.swapaxes(0, 1) if order == "BT" else x


@kinds
@orders
def test_sequences_equal_torchs_own_layer(kind, order, backend):
    test = built(kind, backend, order)
    outputs, after, _ = by_torch(kind, with_states=False)
    expected = (major(outputs.detach().numpy(), order), after)
    test.test("call", major(INPUTS, order), expected=expected)
    outputs, after, _ = by_torch(kind)
    expected = (major(outputs.detach().numpy(), order), after)
    test.test("call", major(INPUTS, order), states(kind), expected=expected)


@pairs
def test_resets_clear_the_state_where_an_episode_begins(kind, order, backend):
    test = built(kind, backend, order)
    outputs, after, _ = by_torch(kind, resets=RESETS)
    given = (major(INPUTS, order), states(kind), major(RESETS, order))
    test.test("call", *given, expected=(major(outputs.detach().numpy(), order), after))


@kinds
def test_steps_one_by_one_equal_the_sequence(kind, backend):
    outputs, after, _ = by_torch(kind, resets=RESETS)
    test, state = built(kind, backend, "B"), states(kind)
    for t in range(STEPS):
        output, state = test.call("call", INPUTS[t], state, RESETS[t])
        np.testing.assert_allclose(output, outputs[t].detach().numpy(), atol=1e-5)
    compare(state, after)


@pytest.mark.parametrize("length", [1, 2, 9])
def test_lengths_and_batches_of_any_size(length, backend):
    test = built("lstm", backend)
    inputs = RNG.normal(size=(length, 4, FEATURES)).astype("float32")
    outputs, after = test.call("call", inputs)
    assert outputs.shape == (length, 4, UNITS)
    np.testing.assert_array_equal(outputs[-1], after["h"])


class Trained(Component):
    """A recurrent layer with a loss on all steps."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer
        self.optimizer = SGD()

    @api
    def gradients(self, inputs: Any, states: Any, resets: Any, targets: Any) -> Any:
        outputs, _ = self.layer.call(inputs, states, resets)
        return self.optimizer.gradients(self.loss(outputs, targets), self.layer.variables())

    @graph_fn
    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self.ops.mean(self.ops.square(outputs - targets))


@pairs
def test_gradients_through_time_equal_torchs_and_stop_at_resets(kind, order, backend):
    layer = LAYERS[kind](UNITS)
    spaces = {
        "inputs": Box((FEATURES,), ranks=order),
        "states": layer.state_space,
        "resets": BoolBox(ranks=order),
        "targets": Box((UNITS,), ranks=order),
    }
    test = ComponentTest(Trained(layer), spaces, backend)
    test.write({f"layer/{name}": value for name, value in weights(kind).items()})
    given = (major(INPUTS, order), states(kind), major(RESETS, order), major(TARGETS, order))
    if backend == "numpy":
        with pytest.raises(BackendError, match="forward-only"):
            test.call("gradients", *given)
        return
    got = test.call("gradients", *given)
    outputs, _, reference = by_torch(kind, resets=RESETS)
    loss = (outputs - torch.as_tensor(TARGETS)).square().mean()
    inner, hidden, bias, hidden_bias = torch.autograd.grad(loss, list(reference.parameters()))
    kernel = np.concatenate(blocks(got["kernel"], kind), -1).T
    np.testing.assert_allclose(kernel[:, :FEATURES], inner, atol=1e-5)
    np.testing.assert_allclose(kernel[:, FEATURES:], hidden, atol=1e-5)
    np.testing.assert_allclose(np.concatenate(blocks(got["bias"], kind)), bias, atol=1e-5)
    if kind == "gru":
        np.testing.assert_allclose(got["recurrent_bias"], hidden_bias[2 * UNITS :], atol=1e-5)


@pytest.mark.parametrize(
    ("spaces", "error", "message"),
    [
        ({"inputs": Box((4, 4))}, SpaceError, "takes float32 vectors.*Put a Flatten"),
        ({"inputs": IntBox(3, shape=(2,))}, SpaceError, "takes float32 vectors"),
        ({"inputs": Box((4,), ranks="T")}, RLGError, "ranks='B' for one step"),
        (
            {"inputs": Box((4,)), "states": Box((2,))},
            RLGError,
            "`states` is Box.*`state_space` says",
        ),
        (
            {"inputs": Box((4,), ranks="TB"), "resets": BoolBox()},
            RLGError,
            r"one bool for each step: BoolBox\(ranks='TB'\)",
        ),
    ],
)
def test_refusals_show_the_way_out(spaces, error, message):
    with pytest.raises(error, match=message):
        ComponentTest(LSTMLayer(2), spaces)


def test_units_are_positive():
    with pytest.raises(ComponentError, match="units must be at least 1, got 0"):
        ComponentTest(GRULayer(0), {"inputs": Box((2,))})


class BothOrders(Component):
    def __init__(self) -> None:
        self.layer = LSTMLayer(2)

    @api
    def run(self, inputs: Any, others: Any) -> Any:
        return self.layer.call(inputs)[0], self.layer.call(others)[0]


def test_one_layer_takes_one_order_and_single_steps():
    step, first, second = (Box((2,), ranks=ranks) for ranks in ("B", "TB", "BT"))
    with pytest.raises(RLGError, match="sequences come as TB and as BT"):
        ComponentTest(BothOrders(), {"inputs": first, "others": second})
    test = ComponentTest(BothOrders(), {"inputs": step, "others": second})
    one, other = test.call("run", np.zeros((3, 2)), np.zeros((3, 5, 2)))
    assert (one.shape, other.shape) == ((3, 2), (3, 5, 2))


@pytest.mark.parametrize("network", [LSTM(MLP([3]), 2), GRU(MLP([3]), 2)], ids=["lstm", "gru"])
def test_networks_unroll_with_states_and_call_without(network, backend):
    network = network.copy()
    spaces = {"inputs": Box((4,), ranks="BT"), "states": network.state_space}
    test = ComponentTest(network, spaces, backend)
    inputs = major(INPUTS, "BT")
    outputs, _ = test.call("unroll", inputs)
    test.test("call", inputs, expected=outputs)
    first, state = test.call("unroll", inputs[:, :2])
    second, _ = test.call("unroll", inputs[:, 2:], state)
    np.testing.assert_allclose(np.concatenate([first, second], 1), outputs, atol=1e-6)


def test_a_recurrent_network_stands_in_front_of_any_policy(backend):
    network = {"type": "lstm", "units": 2, "network": {"type": "mlp", "units": [3]}}
    spaces = {"states": Box((4,), ranks="TB")}
    test = ComponentTest(QPolicy(network, IntBox(3)), spaces, backend)
    q_values = test.call("q_values", INPUTS)
    assert q_values.shape == (STEPS, BATCH, 3)
    np.testing.assert_allclose(test.call("q_values", INPUTS[:2]), q_values[:2], atol=1e-6)
    with pytest.raises(AssertionError):  # The first step is remembered.
        np.testing.assert_allclose(test.call("q_values", INPUTS[1:]), q_values[1:], atol=1e-6)


class Noisy(Component):
    """Draws one number for each step behind the network."""

    def __init__(self) -> None:
        self.network = LSTM(units=2)

    @api
    def call(self, inputs: Any) -> Any:
        return self.add(self.network.call(inputs))

    @graph_fn
    def add(self, outputs: Tensor) -> Tensor:
        ops = self.ops
        noise = ops.random_uniform([ops.batch_size(outputs), ops.axis_size(outputs, 1), 1])
        return outputs + noise


def test_time_behind_the_network_is_as_long_as_before(backend):
    test = ComponentTest(Noisy(), {"inputs": Box((4,), ranks="TB")}, backend)
    outputs = test.call("call", INPUTS)
    assert outputs.shape == (STEPS, BATCH, 2)
    assert np.unique(outputs).size == outputs.size


def test_states_have_a_space_of_their_own():
    assert LSTMLayer(3).state_space == Dict(c=Box((3,)), h=Box((3,)))
    assert GRU(units=4).state_space == Box((4,))
