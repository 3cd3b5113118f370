"""Exploration: none, always, and one coin per environment."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import SpaceError
from rlg.graph.components.explorations.epsilon_greedy import EpsilonGreedy
from rlg.graph.spaces import Box, FloatBox, IntBox
from rlg.testing import ComponentTest

EPSILON = FloatBox(0.0, 1.0, ranks="")


def explorer(backend, space, epsilon=EPSILON):
    q_values = Box((*space.shape, space.high + 1))
    return ComponentTest(EpsilonGreedy(space), {"q_values": q_values, "epsilon": epsilon}, backend)


def test_epsilon_zero_is_greedy_and_one_uniform(backend):
    test = explorer(backend, IntBox(4))
    q_values = Box((4,)).sample(0, 400)
    np.testing.assert_array_equal(test.call("explore", q_values, 0.0), q_values.argmax(-1))
    counts = np.bincount(test.call("explore", q_values, 1.0))
    assert len(counts) == 4
    assert counts.min() > 60  # 100 on average.


def test_environments_may_have_epsilons_of_their_own(backend):
    test = explorer(backend, IntBox(50), FloatBox(0.0, 1.0))
    q_values = np.eye(50, dtype="float32")[[7] * 100]
    actions = test.call("explore", q_values, np.repeat([0.0, 1.0], 50).astype("float32"))
    assert (actions[:50] == 7).all()
    assert (actions[50:] == 7).sum() < 10


def test_all_sub_actions_of_an_environment_share_its_coin(backend):
    test = explorer(backend, IntBox(1000, shape=(3,)))
    actions = test.call("explore", np.zeros((200, 3, 1000), "float32"), 0.5)
    explored = (actions != 0).sum(-1)  # 0 is greedy; a uniform action is seldom 0.
    assert 60 < (explored == 0).sum() < 140
    assert np.isin(explored, [0, 3]).mean() > 0.98


@pytest.mark.parametrize(
    ("q_values", "epsilon", "message"),
    [
        (Box((5,)), EPSILON, r"asks for one batch of shape \(4,\)"),
        (Box((4,), ranks="BT"), EPSILON, "asks for one batch"),
        (Box((4,)), IntBox(2), "`epsilon` is .*give one float"),
    ],
)
def test_mismatching_spaces_are_refused(q_values, epsilon, message):
    with pytest.raises(SpaceError, match=message):
        ComponentTest(EpsilonGreedy(IntBox(4)), {"q_values": q_values, "epsilon": epsilon})
