"""Pooling, norms, residuals, containers, embeddings and the networks made of them, by numbers."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import torch

from rlg.errors import ComponentError, RLGError, SpaceError
from rlg.graph.components.layers.concat import Concat
from rlg.graph.components.layers.conv2d import Conv2D
from rlg.graph.components.layers.dense import Dense
from rlg.graph.components.layers.embedding import Embedding
from rlg.graph.components.layers.max_pool2d import MaxPool2D
from rlg.graph.components.layers.norm import LayerNorm, LocalResponseNorm
from rlg.graph.components.layers.residual import Residual
from rlg.graph.components.networks.impala import ImpalaLarge, ImpalaSmall
from rlg.graph.components.networks.multi_input import MultiInput
from rlg.graph.components.networks.repeater import RepeaterStack
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple
from rlg.testing import ComponentTest

RNG = np.random.default_rng(3)
HALF = {"type": "constant", "value": 0.5}
IMAGE = np.arange(1.0, 10.0, dtype="float32").reshape(1, 3, 3, 1)


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (MaxPool2D(2), [[5.0]]),
        (MaxPool2D(2, 1), [[5.0, 6.0], [8.0, 9.0]]),
        (MaxPool2D(2, padding="same"), [[5.0, 6.0], [8.0, 9.0]]),
        (MaxPool2D((1, 3), (2, 1)), [[3.0], [9.0]]),
        (MaxPool2D(3, 2, "same"), [[5.0, 6.0], [8.0, 9.0]]),
    ],
)
def test_max_pool2d_takes_the_largest_of_each_window(layer, expected, backend):
    test = ComponentTest(layer.copy(), {"inputs": Box((3, 3, 1))}, backend)
    test.test("call", IMAGE, expected=np.array(expected)[None, :, :, None])


@pytest.mark.parametrize("ranks", ["B", "TB"])
def test_layer_norm_equals_torchs(ranks, backend):
    test = ComponentTest(LayerNorm(1e-3), {"inputs": Box((5,), ranks=ranks)}, backend)
    scale, offset = RNG.normal(size=(2, 5)).astype("float32")
    test.write({"scale": scale, "offset": offset})
    x = RNG.normal(3.0, 2.0, (4, 5) if ranks == "B" else (2, 3, 5)).astype("float32")
    weights = torch.as_tensor(scale), torch.as_tensor(offset)
    expected = torch.nn.functional.layer_norm(torch.as_tensor(x), (5,), *weights, 1e-3)
    test.test("call", x, expected=expected.numpy())


@pytest.mark.parametrize("radius", [0, 1, 2, 9])
def test_local_response_norm_equals_tensorflows(radius, backend):
    layer = LocalResponseNorm(radius, 1.5, 0.8, 0.6)
    test = ComponentTest(layer, {"inputs": Box((2, 2, 5))}, backend)
    x = RNG.normal(size=(3, 2, 2, 5)).astype("float32")
    expected = tf.nn.local_response_normalization(x, radius, 1.5, 0.8, 0.6)
    test.test("call", x, expected=expected.numpy())


def test_residual_adds_the_inputs(backend):
    layer = Residual([Dense(2, kernel_init=HALF, bias_init=HALF), "activation"])
    test = ComponentTest(layer, {"inputs": Box((2,))}, backend)
    test.test("call", [[1.0, 2.0], [-3.0, 1.0]], expected=[[3.0, 4.0], [-3.0, 1.0]])


def test_concat_goes_by_sorted_keys_and_takes_scalars(backend):
    space = Dict(b=Box((1,)), a=Tuple(Box((2,)), Box((1,))))
    test = ComponentTest(Concat(), {"inputs": space}, backend)
    value = {"b": [[9.0]], "a": ([[1.0, 2.0]], [[3.0]])}
    test.test("call", value, expected=[[1.0, 2.0, 3.0, 9.0]])
    test = ComponentTest(Concat(), {"inputs": Tuple(FloatBox(), FloatBox())}, backend)
    test.test("call", ([1.0, 2.0], [3.0, 4.0]), expected=[[1.0, 3.0], [2.0, 4.0]])


@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_embedding_looks_rows_up(dtype, backend):
    space = IntBox(3, shape=(2,), dtype=dtype)
    test = ComponentTest(Embedding(2), {"inputs": space}, backend)
    test.write({"table": [[0.0, 1.0], [10.0, 11.0], [20.0, 21.0]]})
    assert test.read("table").shape == (3, 2)
    inputs = np.array([[2, 0], [1, 1]], dtype)
    expected = [[[20.0, 21.0], [0.0, 1.0]], [[10.0, 11.0], [10.0, 11.0]]]
    test.test("call", inputs, expected=expected)


@pytest.mark.parametrize(("shared", "variables"), [(False, 3), (True, 1)])
def test_a_repeater_copies_or_shares_its_layers(shared, variables, backend):
    layer = RepeaterStack([Dense(2, bias=False, kernel_init=HALF)], 3, shared)
    test = ComponentTest(layer, {"inputs": Box((2,))}, backend)
    assert test.statistics.variables == variables
    test.test("call", [[1.0, 3.0]], expected=[[2.0, 2.0]])


def test_repeated_layers_start_from_values_of_their_own(backend):
    test = ComponentTest(RepeaterStack([Dense(2)], 2), {"inputs": Box((2,))}, backend)
    first, second = (test.read(f"stack-{n}/dense-0/kernel") for n in range(2))
    assert np.abs(first - second).min() > 0


def test_multi_input_joins_a_network_for_each_key(backend):
    networks = {"a": "flatten", "b": Dense(1, bias=False, kernel_init=HALF)}
    space = Dict(b=Box((2,)), a=Box((1, 2)))
    inputs = {"a": [[[1.0, 2.0]]], "b": [[3.0, 5.0]]}
    test = ComponentTest(MultiInput(networks), {"inputs": space}, backend)
    test.test("call", inputs, expected=[[1.0, 2.0, 4.0]])
    networks = {"a": "flatten", "b": Dense(1, bias=False, kernel_init=HALF)}
    trunk = Dense(1, bias=False, kernel_init=HALF)
    test = ComponentTest(MultiInput(networks, trunk), {"inputs": space}, backend)
    test.test("call", inputs, expected=[[3.5]])


def numbers(test: ComponentTest) -> int:
    return sum(value.size for value in test.executor.get_weights().values())


def test_impala_networks_have_the_papers_sizes():
    frames = {"inputs": Box((84, 84, 4), "uint8")}
    small, large = ComponentTest(ImpalaSmall(), frames), ComponentTest(ImpalaLarge(), frames)
    # By hand: 8*8*4*16+16, 4*4*16*32+32, (9*9*32)*256+256.
    assert numbers(small) == 4112 + 8224 + 663_808
    # By hand: first convolutions, 4 more in each block, (11*11*32)*256+256.
    blocks = (4 * 9 * 16 + 16) + 4 * (16 * 9 * 16 + 16)
    blocks += (16 * 9 * 32 + 32) + 4 * (32 * 9 * 32 + 32)
    blocks += 5 * (32 * 9 * 32 + 32)
    assert numbers(large) == blocks + 11 * 11 * 32 * 256 + 256
    kernels = [name for name, value in large.executor.get_weights().items() if value.ndim == 4]
    assert len(kernels) == 15
    frame = np.zeros((2, 84, 84, 4), "uint8")
    assert small.call("call", frame).shape == large.call("call", frame).shape == (2, 256)


def test_impala_large_equals_the_same_network_in_torch():
    test = ComponentTest(ImpalaLarge(3, [2, 2]), {"inputs": Box((7, 6, 1), "uint8")})
    weights = iter(sorted_by_layer(test))
    frames = RNG.integers(0, 256, (2, 7, 6, 1)).astype("uint8")
    x = torch.as_tensor(frames / np.float32(255)).permute(0, 3, 1, 2)

    def convolved(x):
        kernel, bias = next(weights)
        kernel = torch.as_tensor(kernel).permute(3, 2, 0, 1)
        return torch.conv2d(x, kernel, torch.as_tensor(bias), padding=1)

    for _ in range(2):
        x = convolved(x)
        # TensorFlow's "same": an odd size is padded on both sides, an even one behind.
        pads = (1 - (x.shape[3] % 2 == 0), 1, 1 - (x.shape[2] % 2 == 0), 1)
        padded = torch.nn.functional.pad(x, pads, value=-torch.inf)
        x = torch.max_pool2d(padded, 3, 2)
        for _ in range(2):
            x = x + convolved(torch.relu(convolved(torch.relu(x))))
    kernel, bias = map(torch.as_tensor, next(weights))
    flat = torch.relu(x).permute(0, 2, 3, 1).flatten(1)
    expected = torch.relu(flat @ kernel + bias)
    test.test("call", frames, expected=expected.numpy())


def sorted_by_layer(test: ComponentTest) -> list[tuple[np.ndarray, np.ndarray]]:
    """Kernels and biases in the order of the layers."""

    def place(path: str) -> list[int]:
        return [int(word.rsplit("-", 1)[1]) for word in path.split("/") if "-" in word[1:]][1:]

    values = test.executor.get_weights()
    root = test.component.path
    layers = {name.rsplit("/", 1)[0] for name in values}
    order = sorted(layers, key=lambda path: place("x-0/" + path.removeprefix(f"{root}/")))
    return [(values[f"{path}/kernel"], values[f"{path}/bias"]) for path in order]


@pytest.mark.parametrize(
    ("layer", "inputs", "error", "message"),
    [
        (MaxPool2D(2), Box((4, 4, 1), "uint8"), SpaceError, "Put a Scale layer before it"),
        (MaxPool2D(3), Box((2, 5, 1)), SpaceError, "does not fit into images of"),
        (MaxPool2D(3, padding="full"), Box((5, 5, 1)), ComponentError, "use valid or same"),
        (LayerNorm(), FloatBox(), SpaceError, "LayerNorm takes float32 tensors"),
        (LayerNorm(0.0), Box((2,)), ComponentError, "epsilon must be above 0, got 0.0"),
        (LocalResponseNorm(-1), Box((2,)), ComponentError, "depth_radius is -1"),
        (Residual([Dense(3)]), Box((2,)), SpaceError, "Let the last one give what comes in"),
        (Concat(), Box((2,)), SpaceError, "Concat takes a Dict or Tuple"),
        (Concat(), Dict(a=Box((2,)), b=Box((2, 1))), SpaceError, "Put Flatten layers before it"),
        (Concat(), Dict(a=Box((2,)), b=IntBox(shape=(2,))), SpaceError, "differ in their last"),
        (Embedding(2), Box((2,)), SpaceError, "Embedding takes integers"),
        (Embedding(2), IntBox(), ComponentError, "Give num_embeddings"),
        (Embedding(2, 3), IntBox(5), ComponentError, "has 5 categories.*at least 5"),
        (
            MultiInput({"a": "flatten"}),
            Dict(a=Box((2,)), b=BoolBox()),
            SpaceError,
            "networks for a, but .*one network for each of its keys",
        ),
    ],
)
def test_layers_refuse_what_they_cannot_take(layer, inputs, error, message):
    with pytest.raises(error, match=message):
        ComponentTest(layer, {"inputs": inputs})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MaxPool2D(0), "pool_size is 0; give a positive int or a pair"),
        (lambda: RepeaterStack(["flatten"], 0), "repeats must be at least 1, got 0"),
        (lambda: MultiInput({}), "it has no networks"),
        (lambda: Residual([]), "it has no layers"),
    ],
)
def test_constructors_refuse_what_can_never_work(make, message):
    with pytest.raises(RLGError, match=message):
        make()


def test_a_residual_of_convolutions_takes_time(backend):
    layer = Residual([Conv2D(2, 3, padding="same"), "activation"])
    test = ComponentTest(layer, {"inputs": Box((4, 4, 2), ranks="BT")}, backend)
    assert test.call("call", np.zeros((2, 3, 4, 4, 2), "float32")).shape == (2, 3, 4, 4, 2)
