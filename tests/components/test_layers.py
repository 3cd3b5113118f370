"""Layers by literal numbers, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import ComponentError, SpaceError, SpecError
from rlg.graph.components.layers.activation import ACTIVATIONS, Activation
from rlg.graph.components.layers.conv2d import Conv2D
from rlg.graph.components.layers.dense import Dense
from rlg.graph.components.layers.flatten import Flatten
from rlg.graph.components.layers.noisy import NoisyDense
from rlg.graph.components.layers.recurrent import LSTMLayer
from rlg.graph.components.layers.scale import Scale
from rlg.graph.spaces import Box, Dict, FloatBox
from rlg.testing import ComponentTest

ONES = {"type": "constant", "value": 1.0}
# Outputs for -2, 0 and 1.5.
CURVES = {
    "relu": [0.0, 0.0, 1.5],
    "tanh": [-0.9640276, 0.0, 0.9051483],
    "sigmoid": [0.1192029, 0.5, 0.8175745],
    "elu": [-0.8646647, 0.0, 1.5],
    "gelu": [-0.0455003, 0.0, 1.3997892],
    "silu": [-0.2384058, 0.0, 1.2263617],
    "softplus": [0.126928, 0.6931472, 1.7014133],
    "leaky_relu": [-0.02, 0.0, 1.5],
    "linear": [-2.0, 0.0, 1.5],
}


def test_dense_multiplies_adds_and_activates(backend):
    layer = Dense(2, "relu", bias_init={"type": "constant", "value": 0.25})
    test = ComponentTest(layer, {"inputs": Box((3,))}, backend)
    test.write({"kernel": [[1.0, -1.0], [0.5, 0.0], [0.0, 2.0]]})
    test.test("call", [[1.0, 2.0, 3.0], [2.0, 0.0, 0.5]], expected=[[2.25, 5.25], [2.25, 0.0]])


@pytest.mark.parametrize("ranks", ["B", "T", "BT", "TB"])
def test_dense_takes_batches_and_time_alike(ranks, backend):
    test = ComponentTest(Dense(2, "tanh"), {"inputs": Box((3,), ranks=ranks)}, backend)
    rows = np.arange(18, dtype="float32").reshape(6, 3) / 10
    lead = {"B": (6,), "T": (6,), "BT": (2, 3), "TB": (3, 2)}[ranks]
    expected = np.tanh(rows @ test.read("kernel") + test.read("bias"))
    test.test("call", rows.reshape(*lead, 3), expected=expected.reshape(*lead, 2))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation, backend):
    test = ComponentTest(Activation(activation), {"inputs": Box((3,))}, backend)
    test.test("call", [[-2.0, 0.0, 1.5]], expected=[CURVES[activation]])


IMAGE = np.arange(1.0, 10.0, dtype="float32").reshape(1, 3, 3, 1)


@pytest.mark.parametrize(
    ("padding", "stride", "expected"),
    [
        ("same", 1, [[12.0, 16.0, 9.0], [24.0, 28.0, 15.0], [15.0, 17.0, 9.0]]),
        ("same", 2, [[12.0, 9.0], [15.0, 9.0]]),
        ("valid", 1, [[12.0, 16.0], [24.0, 28.0]]),
        ("valid", 2, [[12.0]]),
        ("valid", (2, 1), [[12.0, 16.0]]),
    ],
)
def test_conv2d_pads_and_strides(padding, stride, expected, backend):
    layer = Conv2D(1, 2, stride, padding, kernel_init=ONES)
    test = ComponentTest(layer, {"inputs": Box((3, 3, 1))}, backend)
    test.test("call", IMAGE, expected=np.array(expected)[None, :, :, None])


def test_conv2d_kernels_are_hwio(backend):
    layer = Conv2D(2, (1, 2), activation="relu", bias_init=ONES)
    test = ComponentTest(layer, {"inputs": Box((1, 2, 2))}, backend)
    kernel = np.zeros((1, 2, 2, 2))
    kernel[0, 0, 1, 0] = 10.0  # Left pixel, second channel to the first filter.
    kernel[0, 1, 0, 1] = -1.0  # Right pixel, first channel to the second.
    test.write({"kernel": kernel})
    test.test("call", [[[[1.0, 2.0], [3.0, 4.0]]]], expected=[[[[21.0, 0.0]]]])
    np.testing.assert_array_equal(test.read("kernel"), kernel)


@pytest.mark.parametrize(("ranks", "lead"), [("B", (4,)), ("BT", (2, 2)), ("TB", (1, 4))])
def test_flatten_keeps_height_width_channels_in_order(ranks, lead, backend):
    test = ComponentTest(Flatten(), {"inputs": Box((2, 2, 3), ranks=ranks)}, backend)
    numbers = np.arange(48.0)
    expected = numbers.reshape(*lead, 12)
    test.test("call", numbers.reshape(*lead, 2, 2, 3), expected=expected)
    assert test.call("call", numbers.reshape(*lead, 2, 2, 3)).shape == expected.shape


def test_scale_makes_floats_of_bytes(backend):
    test = ComponentTest(
        Scale(), {"inputs": Dict(a=Box((3,), "uint8"), b=Box((), "int64"))}, backend
    )
    outputs = test.call("call", {"a": np.array([[0, 51, 255]], "uint8"), "b": [510]})
    assert outputs["a"].dtype == "float32"
    np.testing.assert_allclose(outputs["a"], [[0.0, 0.2, 1.0]], rtol=1e-6)
    np.testing.assert_allclose(outputs["b"], [2.0])


@pytest.mark.parametrize(
    ("layer", "inputs", "error", "message"),
    [
        (Dense(2), Box((4, 4, 3), "uint8"), SpaceError, "Put a Flatten or a Scale layer before it"),
        (Dense(2), Dict(a=Box((2,))), SpaceError, "dense: Dense takes float vectors"),
        (Dense(2), Box((2,), ranks=""), SpaceError, "Give it a batch rank"),
        (Dense(0), Box((2,)), ComponentError, "units must be at least 1, got 0"),
        (Dense(2, "rleu"), Box((2,)), SpecError, "dense: .*Did you mean 'relu'.*silu, softplus"),
        (
            Dense(2, kernel_init="xavier"),
            Box((2,)),
            SpecError,
            "no initializer 'xavier'.*he_uniform",
        ),
        (Activation("swish"), Box((2,)), SpecError, "no activation 'swish'.*leaky_relu, linear"),
        (Conv2D(2, 3), Box((2, 5, 1)), SpaceError, "does not fit into images of"),
        (Conv2D(2, 3), Box((5, 5, 1), "uint8"), SpaceError, "Put a Scale layer before it"),
        (Conv2D(2, 3), Box((5, 5, 1), ranks=""), SpaceError, "Give it a batch rank"),
        (Conv2D(2, 3, padding="full"), Box((5, 5, 1)), ComponentError, "use valid or same"),
        (Conv2D(0, 3), Box((5, 5, 1)), ComponentError, "filters must be at least 1, got 0"),
        (Flatten(), Dict(a=Box()), SpaceError, "Take containers apart first"),
        (Scale(), Box((2,)), SpaceError, "Leave the layer out"),
        (Scale(0.0), Box((2,), "uint8"), ComponentError, "divisor is 0"),
    ],
)
def test_layers_refuse_what_they_cannot_take(layer, inputs, error, message):
    with pytest.raises(error, match=message):
        ComponentTest(layer, {"inputs": inputs})


@pytest.mark.parametrize("size", [0, (3,), (1, 2, 3), "3x3"])
def test_conv2d_refuses_sizes_that_are_no_pairs(size):
    with pytest.raises(ComponentError, match=r"kernel_size is .*a positive int or a pair"):
        Conv2D(2, size)


@pytest.mark.parametrize("layer", [Dense, NoisyDense, LSTMLayer])
@pytest.mark.parametrize(("features", "name"), [(128, "addmm_wide"), (127, "addmm")])
def test_layers_with_large_kernels_ask_for_another_product(layer, features, name, monkeypatch):
    units = 32 if layer is LSTMLayer else 128  # an LSTM has a kernel for each of four gates
    test = ComponentTest(layer(units), {"inputs": FloatBox(shape=(features,))}, "torch")
    ops, seen = type(test.component.ops), []

    def noting(name, product):
        def noted(*args):
            seen.append(name)
            return product(*args)

        return staticmethod(noted)

    for each in ("addmm", "addmm_wide"):
        monkeypatch.setattr(ops, each, noting(each, getattr(ops, each)))
    test.call("call", np.zeros((2, features), "float32"))
    assert seen == [name]


@pytest.mark.parametrize("bias", [True, False])
def test_dense_multiplies_matrices_whatever_the_ranks(bias, backend, monkeypatch):
    """Batch and time are one axis for it: three axes would be many small products."""
    test = ComponentTest(Dense(2, bias=bias), {"inputs": Box((3,), ranks="BT")}, backend)
    ops, axes = type(test.component.ops), []
    name = "addmm" if bias else "matmul"
    product, place = getattr(ops, name), 1 if bias else 0

    def noted(*args):
        axes.append(len(args[place].shape))
        return product(*args)

    monkeypatch.setattr(ops, name, staticmethod(noted))
    assert test.call("call", np.zeros((4, 5, 3), "float32")).shape == (4, 5, 2)
    assert axes
    assert set(axes) == {2}
