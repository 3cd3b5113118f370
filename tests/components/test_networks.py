"""Networks: composition of layers, and the shapes of the known ones."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import ComponentError, SpaceError
from rlg.graph.components.layers.activation import Activation
from rlg.graph.components.networks.mlp import MLP
from rlg.graph.components.networks.nature_cnn import NatureCNN
from rlg.graph.components.networks.stack import Stack
from rlg.graph.spaces import Box
from rlg.testing import ComponentTest


def test_a_stack_takes_components_specs_and_stacks(backend):
    double = {"type": "dense", "units": 1, "kernel_init": {"type": "constant", "value": 2.0}}
    inner = Stack([double, Activation("relu")])
    stack = Stack(["flatten", inner, {**double, "scope": "last"}])
    test = ComponentTest(stack, {"inputs": Box((1, 1))}, backend)
    test.test("call", [[[3.0]], [[-3.0]]], expected=[[12.0], [0.0]])
    assert set(test.executor.get_weights()) == {
        "stack/stack-1/dense-0/kernel",
        "stack/stack-1/dense-0/bias",
        "stack/last/kernel",
        "stack/last/bias",
    }


def test_an_mlp_activates_every_layer(backend):
    test = ComponentTest(MLP([2, 1], "relu"), {"inputs": Box((1,))}, backend)
    test.write({"dense-0/kernel": [[1.0, -1.0]], "dense-1/kernel": [[1.0], [-2.0]]})
    test.test("call", [[3.0], [-3.0]], expected=[[3.0], [0.0]])


def test_the_nature_network_has_its_known_shapes():
    test = ComponentTest(NatureCNN(), {"inputs": Box((84, 84, 4), "uint8")})
    weights = test.executor.get_weights()
    kernels = [value.shape for path, value in weights.items() if path.endswith("kernel")]
    assert kernels == [(8, 8, 4, 32), (4, 4, 32, 64), (3, 3, 64, 64), (3136, 512)]
    assert sum(value.size for value in weights.values()) == 1_684_128
    assert test.call("call", np.zeros((1, 84, 84, 4), "uint8")).shape == (1, 512)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (Box((84, 84, 4)), "Scale takes integers"),
        (Box((35, 84, 4), "uint8"), r"a kernel of \(3, 3\) does not fit into images of \(2, 9\)"),
    ],
)
def test_the_nature_network_refuses_floats_and_small_frames(inputs, message):
    with pytest.raises(SpaceError, match=message):
        ComponentTest(NatureCNN(), {"inputs": inputs})


def test_a_stack_needs_layers():
    with pytest.raises(ComponentError, match="it has no layers"):
        Stack([])


def test_nature_cnn_takes_other_convolutions():
    test = ComponentTest(
        NatureCNN(256, convolutions=[[16, 8, 4], [32, 4, 2]]), {"inputs": Box((84, 84, 4), "uint8")}
    )
    shapes = {path: value.shape for path, value in test.executor.get_weights().items()}
    assert [shapes[path] for path in sorted(shapes) if path.endswith("kernel")] == [
        (8, 8, 4, 16),
        (4, 4, 16, 32),
        (9 * 9 * 32, 256),
    ]
    with pytest.raises(ComponentError, match=r"convolutions is \[\[16, 8\]\]; give filters"):
        NatureCNN(256, convolutions=[[16, 8]])
