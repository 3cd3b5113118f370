"""Recurrent states: whose episode they belong to."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import ExecutionError
from rlg.execution.recurrent_state import RecurrentState
from rlg.graph.spaces import Dict, FloatBox


def after_a_step(num_envs: int) -> RecurrentState:
    made = RecurrentState(FloatBox(shape=(1,)))
    made.before_step(num_envs)
    made.after_step(np.full((num_envs, 1), 7.0, np.float32))
    return made


def test_all_episodes_begin_with_the_first_step_and_none_with_the_second():
    made = RecurrentState(FloatBox(shape=(1,)))
    values, resets = made.before_step(2)
    np.testing.assert_array_equal(values, [[0.0], [0.0]])
    np.testing.assert_array_equal(resets, [True, True])
    made.after_step(np.float32([[1.0], [2.0]]))
    values, resets = made.before_step(2)
    np.testing.assert_array_equal(values, [[1.0], [2.0]])
    np.testing.assert_array_equal(resets, [False, False])


def test_episodes_that_end_one_by_one_before_the_next_step_all_begin_anew():
    made = after_a_step(3)
    made.reset([True, False, False])
    made.reset([False, False, True])
    np.testing.assert_array_equal(made.before_step(3)[1], [True, False, True])


def test_an_end_of_a_single_environment_may_be_one_bool():
    made = after_a_step(1)
    made.reset(False)
    assert not made.before_step(1)[1].any()
    made.reset(True)
    assert made.before_step(1)[1].all()


def test_a_reset_of_everything_forgets_the_values_whatever_follows():
    made = after_a_step(2)
    made.reset()
    made.reset([True, False])
    values, resets = made.before_step(2)
    np.testing.assert_array_equal(values, [[0.0], [0.0]])
    assert resets.all()


def test_ends_of_other_environments_are_refused():
    with pytest.raises(ExecutionError, match=r"2 ends are given, but the last step .* of 3 env"):
        after_a_step(3).reset([True, False])


def test_a_state_that_wants_rewards_gets_those_of_the_step_and_others_stay_as_they_are():
    made = RecurrentState(Dict(policy=FloatBox(shape=(1,)), rewards=FloatBox()))
    values, _ = made.before_step(2)
    np.testing.assert_array_equal(values["rewards"], [0.0, 0.0])
    state = {"policy": np.float32([[1.0], [2.0]]), "rewards": np.zeros(2, np.float32)}
    after = made.after_step(state, np.array([0.5, -3.0]))
    np.testing.assert_array_equal(after["rewards"], np.float32([0.5, -3.0]))
    np.testing.assert_array_equal(state["rewards"], [0.0, 0.0])  # The actor's own is not written.
    assert made.before_step(2)[0] is after
    made.reset([True, False])
    made.reward([1.0, 2.0])  # Whoever steps may say it later: ends stay known.
    values, resets = made.before_step(2)
    np.testing.assert_array_equal(values["rewards"], [1.0, 2.0])
    np.testing.assert_array_equal(resets, [True, False])
    plain = after_a_step(2)
    np.testing.assert_array_equal(plain.reward([1.0, 2.0]), [[7.0], [7.0]])
