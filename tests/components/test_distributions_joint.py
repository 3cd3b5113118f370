"""Joint distributions: nested values, sums over leaves and elements, time."""

from __future__ import annotations

import numpy as np

from rlg.graph.components.distributions.joint import Joint
from rlg.graph.spaces import Box, Dict, IntBox
from rlg.testing import ComponentTest


def test_a_joint_distribution_adds_up_leaves_and_elements(backend):
    test = ComponentTest(
        Joint({"a": "categorical", "b": ["normal", {"type": "categorical", "dtype": "int32"}]}),
        {
            "parameters": Dict(
                a=Box((2,)), b=(Dict(mean=Box((3,)), log_std=Box((3,))), Box((2, 4)))
            ),
            "values": Dict(a=IntBox(2), b=(Box((3,)), IntBox(4, shape=(2,)))),
        },
        backend,
        apis=["log_prob", "entropy", "sample", "mode"],
    )
    zeros = np.zeros((1, 3), "float32")
    p = {
        "a": np.zeros((1, 2), "float32"),
        "b": ({"mean": zeros, "log_std": zeros}, np.zeros((1, 2, 4), "float32")),
    }
    values = {"a": np.array([1]), "b": (zeros + 1.0, np.array([[0, 3]]))}
    # log 1/2, three times the log density of 1, twice log 1/4.
    expected = -np.log(2) - 3 * 1.4189385 - 2 * np.log(4)
    test.test("log_prob", p, values, expected=[expected])
    test.test("entropy", p, expected=[np.log(2) + 3 * 1.4189385 + 2 * np.log(4)])
    drawn = test.call("sample", p)
    assert (drawn["a"].shape, drawn["b"][0].shape, drawn["b"][1].shape) == ((1,), (1, 3), (1, 2))
    assert drawn["b"][1].dtype == "int32"


def test_batch_and_time_have_an_item_each(backend):
    spaces = {"parameters": Box((2, 3), ranks="TB"), "values": IntBox(3, shape=(2,), ranks="TB")}
    test = ComponentTest(Joint("categorical"), spaces, backend, apis=["sample_log_prob"])
    values, log_probs = test.call("sample_log_prob", np.zeros((4, 5, 2, 3), "float32"))
    assert values.shape == (4, 5, 2)
    np.testing.assert_allclose(log_probs, np.full((4, 5), -2 * np.log(3)), rtol=1e-5)
