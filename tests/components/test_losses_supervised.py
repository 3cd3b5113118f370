"""Supervised losses against torch and scipy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from rlg.errors import SpaceError
from rlg.graph.components.losses.supervised import CrossEntropyLoss, GaussianNLLLoss, NLLLoss
from rlg.graph.spaces import Box, FloatBox, IntBox
from rlg.testing import ComponentTest

RNG = np.random.default_rng(0)
LOGITS = RNG.standard_normal((4, 3, 5)).astype("float32")
LABELS = RNG.integers(0, 5, (4, 3))
WEIGHTS = np.array([1.0, 0.0, 2.0, 0.5], "float32")


def test_cross_entropy_is_torchs_summed_over_the_labels_of_an_item(backend):
    spaces = {"logits": Box((3, 5)), "labels": IntBox(5, shape=(3,)), "weights": FloatBox()}
    test = ComponentTest(CrossEntropyLoss(), spaces, backend)
    each = torch.nn.functional.cross_entropy(
        torch.from_numpy(LOGITS.reshape(12, 5)), torch.from_numpy(LABELS.ravel()), reduction="none"
    )
    items = each.numpy().reshape(4, 3).sum(-1)
    test.test("loss", LOGITS, LABELS, expected=(items.mean(), items))
    weighted = WEIGHTS * items
    test.test("loss", LOGITS, LABELS, WEIGHTS, expected=(weighted.mean(), weighted))


def test_cross_entropy_takes_time(backend):
    spaces = {"logits": Box((5,), ranks="TB"), "labels": IntBox(5, ranks="TB", dtype="int32")}
    test = ComponentTest(CrossEntropyLoss(), spaces, backend)
    _, items = test.call("loss", LOGITS, LABELS.astype("int32"))
    each = torch.log_softmax(torch.from_numpy(LOGITS), -1).numpy()
    expected = -np.take_along_axis(each, LABELS[..., None], -1)[..., 0]
    np.testing.assert_allclose(items, expected, rtol=1e-5)


def test_negative_log_likelihood_sums_an_item(backend):
    spaces = {"log_probs": Box((2,)), "weights": FloatBox()}
    test = ComponentTest(NLLLoss(), spaces, backend)
    log_probs = [[-1.0, -2.0], [0.5, -0.25]]
    test.test("loss", log_probs, expected=(1.375, [3.0, -0.25]))
    test.test("loss", log_probs, [2.0, 4.0], expected=(2.5, [6.0, -1.0]))


def test_gaussian_likelihood_is_scipys(backend):
    spaces = {**dict.fromkeys(["mean", "stddev", "targets"], Box((3,))), "weights": FloatBox()}
    test = ComponentTest(GaussianNLLLoss(), spaces, backend)
    mean, targets = RNG.standard_normal((2, 4, 3))
    stddev = RNG.uniform(0.5, 2.0, (4, 3))
    items = -stats.norm(mean, stddev).logpdf(targets).sum(-1)
    inputs = [x.astype("float32") for x in (mean, stddev, targets)]
    test.test("loss", *inputs, expected=(items.mean(), items))
    weighted = WEIGHTS * items
    test.test("loss", *inputs, WEIGHTS, expected=(weighted.mean(), weighted))


@pytest.mark.parametrize(
    ("loss", "spaces", "message"),
    [
        (CrossEntropyLoss(), {"logits": Box((3,)), "labels": FloatBox()}, "A logits for each"),
        (CrossEntropyLoss(), {"logits": Box(), "labels": IntBox(3)}, "A logits for each label"),
        (CrossEntropyLoss(), {"logits": Box((3,)), "labels": IntBox(3, shape=(2,))}, "A logits"),
        (NLLLoss(), {"log_probs": IntBox(3)}, "`log_probs` is .*give floats"),
        (
            GaussianNLLLoss(),
            {"mean": Box((2,)), "stddev": FloatBox(), "targets": Box((2,))},
            "three Boxes of one shape",
        ),
    ],
)
def test_what_does_not_fit_is_refused(loss, spaces, message):
    with pytest.raises(SpaceError, match=message):
        ComponentTest(loss, spaces)
