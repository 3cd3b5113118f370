"""The bank's cases of layers, networks and preprocessors, on every backend."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.layers.concat import Concat
from rlg.graph.components.layers.conv2d import Conv2D
from rlg.graph.components.layers.norm import LocalResponseNorm
from rlg.graph.components.layers.recurrent import LSTMLayer
from rlg.graph.components.layers.residual import Residual
from rlg.graph.components.networks.repeater import RepeaterStack
from rlg.graph.components.preprocessing.arithmetic import Clip, Multiply
from rlg.graph.components.preprocessing.images import Grayscale, ImageBinary
from rlg.graph.components.preprocessing.reshape import (
    FlattenOneHot,
    FoldTime,
    Reshape,
    UnfoldTime,
)
from rlg.graph.components.preprocessing.sequence import FrameSequence
from rlg.graph.spaces import Box, Dict, FloatBox, IntBox, Tuple
from rlg.testing import ComponentTest
from rlg.testing.component_test import compare
from tests import bank
from tests.bank import Runner

RUNNERS: dict[str, Runner] = {}
runs = partial(bank.runs, runners=RUNNERS)


def called(component: Component, space: Any, value: Any, backend: str, **others: Any) -> Any:
    """What `call` makes of a value."""
    spaces = {name: Box(np.shape(x)[2:], ranks="TB") for name, x in others.items()}
    test = ComponentTest(component, {"inputs": space, **spaces}, backend)
    return test.call("call", value, *others.values())


# -- layers ---------------------------------------------------------------------------------------
@runs("layer.residual_2x")
def residual(backend, given):
    inits = {
        f"{name}_init": {"type": "constant", "value": given[name]} for name in ("kernel", "bias")
    }
    layer = Residual([Conv2D(3, 1, **inits) for _ in range(given["repeats"])])
    return {"y": called(layer, Box((2, 2, 3)), given["x"], backend)}


@runs("layer.local_response_norm_r0")
def local_response_norm(backend, given):
    layer = LocalResponseNorm(0, given["bias"], given["alpha"], given["beta"])
    return {"y": called(layer, Box((3,)), [given["x"]], backend)[0]}


@runs("layer.lstm")
def lstm(backend, given):
    layer = LSTMLayer(2, given["forget_bias"])
    test = ComponentTest(layer, {"inputs": Box((3,), ranks="BT")}, backend)
    test.write({"kernel": given["W"], "bias": given["b"]})
    outputs, states = test.call("call", given["x"])
    return {"outputs": outputs, "last_c": states["c"], "last_h": states["h"]}


@runs("layer.concat")
def concat(backend, given):
    values = tuple(np.array(value, "float32") for value in given["inputs"])
    space = Tuple(*(Box(value.shape[1:]) for value in values))
    return {"y": called(Concat(), space, values, backend)}


class Halve(Component):
    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        x, y = inputs
        return x + 0.5, y * 0.5


@runs("layer.repeater_stack")
def repeater_stack(backend, given):
    space = Tuple(FloatBox(ranks=""), FloatBox(ranks=""))
    stack = RepeaterStack([Halve()], given["repeats"])
    return {"out": np.stack(called(stack, space, (given["x"], given["y"]), backend))}


# -- preprocessors --------------------------------------------------------------------------------
@runs("prep.multiply")
def multiply(backend, given):
    return {"y": called(Multiply(given["factor"]), Box((2, 1)), given["x"], backend)}


@runs("prep.clip")
def clip(backend, given):
    return {"y": called(Clip(given["min"], given["max"]), Box((2, 2)), given["x"], backend)}


@runs("prep.grayscale_rgb_uint8")
def grayscale(backend, given):
    colours = np.array(given["rgb"], "uint8")
    return {"gray": called(Grayscale(keep_rank=False), Box((3,), "uint8"), colours, backend)}


@runs("prep.image_binary")
def image_binary(backend, given):
    images = np.array(given["x"], "uint8")
    return {"y": called(ImageBinary(keep_rank=False), Box((2, 2, 3), "uint8"), images, backend)}


@runs("prep.flatten_nested_onehot")
def flatten_nested(backend, given):
    space = Dict(a=Tuple(Box((2, 2, 3))), c=Dict(d=IntBox(given["categories"])))
    outputs = called(FlattenOneHot(), space, {"a": (given["b"],), "c": {"d": given["d"]}}, backend)
    return {"b": outputs["a"][0], "d": outputs["c"]["d"]}


@runs("prep.reshape_shapes")
def reshape_shapes(backend, given):
    flat, one_hot, fold, unfold, shape = (np.zeros(sizes) for _, sizes in given["cases"])
    like = np.zeros((4, 2), "float32")
    outputs = [
        called(FlattenOneHot(), Box((2, 3, 4), ranks="TB"), flat, backend),
        called(
            FlattenOneHot(), IntBox(2, shape=(2, 3, 4), ranks="BT"), one_hot.astype(int), backend
        ),
        called(FoldTime(), Box((4, 4), ranks="TB"), fold, backend),
        called(UnfoldTime(), Box((4, 4), ranks="F"), unfold, backend, like=like),
        called(Reshape((4, 10)), Box((5, 8), ranks="TB"), shape, backend),
    ]
    return {f"shapes/{n}": np.array(output.shape) for n, output in enumerate(outputs)}


def frames(backend, given, shape, **options):
    test = ComponentTest(FrameSequence(given["length"], **options), {"inputs": Box(shape)}, backend)
    test.call("reset")
    return [test.call("call", np.full((1, *shape), x))[0] for x in given["frames"]]


@runs("prep.sequence_3")
def sequence_3(backend, given):
    return {"out": np.stack(frames(backend, given, ()))}


@runs("prep.sequence_no_new_rank")
def sequence_no_new_rank(backend, given):
    return {"out": np.stack(frames(backend, given, (1,), add_rank=False))}


# What the original keeps inside, and we don't: its ring's index.
LEFT_OUT = {"buffer_index"}


@pytest.mark.parametrize("name", RUNNERS)
def test_case(name, backend):
    case = bank.CASES[name]
    expected = {key: case["expected"][key] for key in case["expected"].keys() - LEFT_OUT}
    if "shapes" in expected:  # Of different lengths: one entry for each.
        expected = {f"shapes/{n}": shape for n, shape in enumerate(expected["shapes"])}
    compare(RUNNERS[name](backend, case["inputs"]), expected, case["tol"])
