"""Grids of bools in the network for frames."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import SpaceError
from rlg.graph.components.layers.scale import Scale
from rlg.graph.components.networks.nature_cnn import NatureCNN
from rlg.graph.spaces import BoolBox, Dict, IntBox
from rlg.testing import ComponentTest


def test_bools_become_0_and_1_and_bytes_are_divided(backend):
    grid = ComponentTest(Scale(), {"inputs": BoolBox(shape=(2, 1))}, backend)
    grid.test("call", [[[True], [False]]], expected=[[[1.0], [0.0]]])
    frame = ComponentTest(Scale(), {"inputs": IntBox(256, shape=(2, 1))}, backend)
    frame.test("call", [[[255], [51]]], expected=[[[1.0], [0.2]]])


def test_an_offset_is_subtracted_from_bytes_before_they_are_divided_and_not_from_bools(backend):
    scale = Scale(divisor=50.0, offset=105.0)
    frame = ComponentTest(scale, {"inputs": IntBox(256, shape=(2, 1))}, backend)
    frame.test("call", [[[255], [80]]], expected=[[[3.0], [-0.5]]])
    grid = ComponentTest(Scale(50.0, 105.0), {"inputs": BoolBox(shape=(2, 1))}, backend)
    grid.test("call", [[[True], [False]]], expected=[[[1.0], [0.0]]])


def test_the_first_convolution_sees_frames_around_the_offset(backend):
    ones, zeros = {"type": "constant", "value": 1.0}, {"type": "constant", "value": 0.0}
    network = NatureCNN(1, ones, zeros, [[1, 2, 2]], offset=100.0, divisor=50.0)
    test = ComponentTest(network, {"inputs": IntBox(256, shape=(2, 2, 1)).with_ranks("B")}, backend)
    frames = np.array([[[[150], [150]], [[100], [100]]], [[[50], [50]], [[100], [100]]]])
    # (1 + 1 + 0 + 0) through the convolution and the dense layer, and what is below zero is cut.
    test.test("call", frames, expected=[[2.0], [0.0]])


def test_the_network_of_minatar_has_the_sizes_of_the_paper(backend):
    network = NatureCNN(128, convolutions=[[16, 3, 1]])
    test = ComponentTest(network, {"inputs": BoolBox(shape=(10, 10, 4))}, backend)
    shapes = sorted(value.shape for value in test.executor.get_variables().values())
    assert shapes == [(3, 3, 4, 16), (16,), (128,), (1024, 128)]
    found = test.call("call", np.ones((5, 10, 10, 4), np.bool_))
    assert np.shape(found) == (5, 128)


def test_bools_and_bytes_together_are_refused():
    with pytest.raises(SpaceError, match="takes integers, such as uint8 frames, or bools"):
        ComponentTest(Scale(), {"inputs": Dict({"a": BoolBox(), "b": IntBox(256)})}, "numpy")
