"""Transposed convolutions, soft choices, margins and distances, against torch and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rlg.errors import ComponentError
from rlg.graph.components.distributions.gumbel_softmax import GumbelSoftmax
from rlg.graph.components.layers.conv2d_transpose import Conv2DTranspose
from rlg.graph.components.losses.margin import LargeMarginLoss
from rlg.graph.components.losses.supervised import EuclideanLoss
from rlg.graph.components.preprocessing.images import Grayscale
from rlg.graph.spaces import Box, FloatBox, IntBox
from rlg.testing import ComponentTest


@pytest.mark.parametrize(("size", "stride"), [((3, 2), (1, 1)), ((3, 3), (2, 3)), ((1, 2), (3, 2))])
def test_a_transposed_convolution_is_torchs(backend, size, stride):
    test = ComponentTest(Conv2DTranspose(2, size, stride), {"inputs": Box((2, 3, 4))}, backend)
    x = np.random.default_rng(0).normal(size=(2, 2, 3, 4)).astype("float32")
    kernel, bias = test.read("kernel"), np.array([0.5, -1.0], "float32")
    test.write({"bias": bias})
    expected = torch.nn.functional.conv_transpose2d(
        torch.from_numpy(x).permute(0, 3, 1, 2),
        torch.from_numpy(kernel).permute(2, 3, 0, 1),
        torch.from_numpy(bias),
        stride,
    )
    test.test("call", x, expected=expected.permute(0, 2, 3, 1).numpy())


@pytest.mark.parametrize(
    ("size", "stride", "expected"),
    [
        # Pixels 1 and 10, kernel 1, 2, 3...: each spread, 2 apart, then cut to 2 * 2.
        (3, 2, [1.0, 2.0, 3.0 + 10.0, 20.0]),  # of 1 2 13 20 30 without the last
        (4, 2, [2.0, 3.0 + 10.0, 4.0 + 20.0, 30.0]),  # of 1 2 13 24 30 40 without both ends
        (1, 2, [1.0, 0.0, 10.0, 0.0]),  # gaps stay
        (3, 1, [2.0 + 10.0, 3.0 + 20.0]),  # of 1 12 23 30 without both ends
    ],
)
def test_same_padding_is_tensorflows(backend, size, stride, expected):
    layer = Conv2DTranspose(1, [size, 1], [stride, 1], "same")
    test = ComponentTest(layer, {"inputs": Box((2, 1, 1))}, backend)
    kernel = np.arange(1, size + 1, dtype="float32").reshape(size, 1, 1, 1)
    test.write({"kernel": kernel, "bias": [0.0]})
    found = test.call("call", np.array([1.0, 10.0], "float32").reshape(1, 2, 1, 1))
    np.testing.assert_allclose(found.ravel(), expected)


def test_soft_choices_have_torchs_density(backend):
    spaces = {name: Box((3,)) for name in ("parameters", "other", "values")}
    test = ComponentTest(GumbelSoftmax(0.5), spaces, backend)
    logits = np.array([[0.0, 1.0, -1.0], [2.0, 0.5, 0.5]], "float32")
    values = np.array([[0.2, 0.5, 0.3], [0.7, 0.1, 0.2]], "float32")
    other = torch.distributions.RelaxedOneHotCategorical(
        torch.tensor(0.5), logits=torch.from_numpy(logits)
    )
    test.test("log_prob", logits, values, expected=other.log_prob(torch.from_numpy(values)).numpy())
    test.test("mode", logits, expected=[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    many = test.call("sample", np.repeat(logits[:1], 4000, 0))
    np.testing.assert_allclose(many.sum(-1), 1.0, rtol=1e-5)
    # The largest one is a choice with its probability.
    shares = np.bincount(many.argmax(-1), minlength=3) / 4000
    np.testing.assert_allclose(shares, np.exp(logits[0]) / np.exp(logits[0]).sum(), atol=0.03)


def test_lower_temperatures_are_harder():
    spaces = {name: Box((3,)) for name in ("parameters", "other", "values")}
    logits = np.zeros((500, 3), "float32")
    softest = ComponentTest(GumbelSoftmax(5.0), spaces, "numpy").call("sample", logits)
    hardest = ComponentTest(GumbelSoftmax(0.1), spaces, "numpy").call("sample", logits)
    assert softest.max(-1).mean() < 0.55 < 0.9 < hardest.max(-1).mean()


def test_a_margin_keeps_others_below_the_demonstrated_action(backend):
    spaces = {"q": Box((3,)), "actions": IntBox(3), "weights": FloatBox()}
    test = ComponentTest(LargeMarginLoss(0.8), spaces, backend)
    q = [[1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [1.0, 1.5, 0.0], [3.0, 3.0, 3.0]]
    # Ahead by 1: nothing. Behind by 1: 1 + 0.8. Ahead by 0.5: 0.3 short. Equal: the margin.
    items = [0.0, 1.8, 0.3, 0.8]
    test.test("loss", q, [1, 0, 1, 2], expected=(0.725, items))
    test.test("loss", q, [1, 0, 1, 2], [0.0, 1.0, 0.0, 0.5], expected=(0.55, [0, 1.8, 0, 0.4]))


def test_the_margin_of_several_sub_actions_is_their_mean(backend):
    spaces = {"q": Box((2, 3)), "actions": IntBox(3, shape=(2,)), "weights": FloatBox()}
    test = ComponentTest(LargeMarginLoss(0.8), spaces, backend)
    q = [[[1.0, 2.0, 0.0], [3.0, 3.0, 3.0]], [[1.0, 2.0, 0.0], [1.0, 1.5, 0.0]]]
    # Items as above: 0 and 0.8, 1.8 and 0.3.
    test.test("loss", q, [[1, 2], [0, 1]], expected=(0.725, [0.4, 1.05]))


def test_distances(backend):
    both = dict.fromkeys(["predictions", "targets"], Box((2,)))
    test = ComponentTest(EuclideanLoss(), {**both, "weights": FloatBox()}, backend)
    x, y = [[3.0, 4.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]
    test.test("loss", x, y, expected=(2.5, [5.0, 0.0]))
    test.test("loss", x, y, [0.5, 1.0], expected=(1.25, [2.5, 0.0]))


def test_grayscale_by_other_weights(backend):
    test = ComponentTest(
        Grayscale(keep_rank=False, weights=[0.5, 0.25, 0.25]), {"inputs": Box((3,))}, backend
    )
    test.test("call", [[4.0, 8.0, 16.0]], expected=[8.0])
    test = ComponentTest(
        Grayscale(weights=[0.5, 0.25, 0.25]), {"inputs": Box((3,), "uint8")}, backend
    )
    test.test("call", np.array([[5, 8, 17]], "uint8"), expected=[[9]])  # 8.75
    with pytest.raises(ComponentError, match=r"weights is \[0.5, 0.5\]; give one for each"):
        Grayscale(weights=[0.5, 0.5])
