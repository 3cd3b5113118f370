"""Heads and policies: Q-values by literal numbers, greedy actions, several sub-actions."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import SpaceError
from rlg.graph.components.heads.dueling import DuelingHead
from rlg.graph.components.heads.q import QHead
from rlg.graph.components.policies.q import QPolicy
from rlg.graph.spaces import Box, FloatBox, IntBox
from rlg.testing import ComponentTest

INPUTS = {"inputs": Box((2,))}
MLP = {"type": "mlp", "units": [4]}


def test_a_q_head_is_linear(backend):
    test = ComponentTest(QHead(IntBox(3)), INPUTS, backend)
    test.write({"output/kernel": [[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]]})
    test.test("call", [[2.0, 3.0]], expected=[[2.0, 3.0, 1.0]])


def test_sub_actions_have_an_axis_of_their_own(backend):
    test = ComponentTest(QHead(IntBox(3, shape=(2,))), INPUTS, backend)
    test.write({"output/bias": np.arange(6.0)})
    test.test("call", np.zeros((1, 2)), expected=[[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]])


def dueling(backend, action_space, units=None):
    return ComponentTest(DuelingHead(action_space, units), INPUTS, backend)


def test_a_dueling_head_adds_centred_advantages(backend):
    test = dueling(backend, IntBox(3))
    test.write(
        {
            "value/dense-0/kernel": [[1.0], [1.0]],
            "advantages/dense-0/kernel": [[1.0, 2.0, 3.0], [0.0, 0.0, 3.0]],
        }
    )
    # V = 3, A = (1, 2, 9) with mean 4; V = 1, A = (1, 2, 3) with mean 2.
    test.test("call", [[1.0, 2.0], [1.0, 0.0]], expected=[[0.0, 1.0, 8.0], [0.0, 1.0, 2.0]])


def test_dueling_advantages_are_centred_for_each_sub_action(backend):
    test = dueling(backend, IntBox(3, shape=(2,)))
    test.write(
        {
            "value/dense-0/bias": [2.0],
            "advantages/dense-0/bias": [1.0, 2.0, 3.0, 0.0, 0.0, 9.0],
        }
    )
    expected = [[[1.0, 2.0, 3.0], [-1.0, -1.0, 8.0]]]
    test.test("call", np.zeros((1, 2)), expected=expected)


def test_dueling_streams_may_have_a_hidden_layer():
    test = dueling("numpy", IntBox(3), units=5)
    shapes = {path: value.shape for path, value in test.executor.get_weights().items()}
    assert shapes["dueling-head/value/dense-0/kernel"] == (2, 5)
    assert shapes["dueling-head/value/dense-1/kernel"] == (5, 1)
    assert shapes["dueling-head/advantages/dense-1/kernel"] == (5, 3)


@pytest.mark.parametrize("head", ["q_head", "dueling_head"])
def test_a_policy_is_greedy_by_its_q_values(head, backend):
    space = IntBox(3, shape=(2,))
    test = ComponentTest(QPolicy(MLP, space, head), {"states": Box((2,))}, backend)
    states = Box((2,)).sample(0, 20)
    q_values = test.call("q_values", states)
    assert q_values.shape == (20, 2, 3)
    actions = test.call("greedy", states)
    np.testing.assert_array_equal(actions, q_values.argmax(-1))
    assert len(np.unique(actions)) > 1


@pytest.mark.parametrize(
    "space", [FloatBox(0.0, 1.0), IntBox(), IntBox(1, 4), IntBox([2, 3], shape=(2,))]
)
@pytest.mark.parametrize("head", [QHead, DuelingHead, lambda space: QPolicy(MLP, space)])
def test_heads_refuse_spaces_that_are_no_equal_choices(head, space):
    with pytest.raises(SpaceError, match=r"action_space is .* as in IntBox\(4\)"):
        head(space)


def test_action_spaces_may_be_plain_forms():
    assert QHead(IntBox(4).to_spec()).action_space == IntBox(4)
    assert QHead(IntBox([4, 4], shape=(2,))).action_space == IntBox(4, shape=(2,))


def test_axes_of_sub_actions_keep_their_order(backend):
    test = ComponentTest(QHead(IntBox(2, shape=(3, 1))), INPUTS, backend)
    test.write({"output/bias": np.arange(6.0)})
    expected = [[[[0.0, 1.0]], [[2.0, 3.0]], [[4.0, 5.0]]]]
    test.test("call", np.zeros((1, 2)), expected=expected)
