"""Actions reach environments in the form that these want."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.envs import make_env
from rlg.errors import EnvironmentFailure
from rlg.graph.spaces import Box, Dict, IntBox, Tuple
from tests.envs.plain import register_plain
from tests.envs.runs import random_actions


@pytest.fixture
def env():
    register_plain()
    return make_env("plain/Nested-v0", 2)


def test_spaces_count_from_zero_and_floats_are_narrowed(env):
    assert env.action_space == Dict(
        gear=IntBox(3), keys=IntBox([2, 3], shape=(2,)), wheel=Box((2,), "float64", -1.0, 1.0)
    )
    assert env.observation_space == Dict(
        image=Box((3, 2, 1), "uint8", 0, 255),
        place=Tuple(Box((2,), "float32", -np.inf, np.inf), IntBox(9)),
    )


def test_nested_actions_are_shifted_and_cast_and_observations_stacked(env):
    first = env.reset()
    assert env.observation_space.contains(first)
    actions = {
        "gear": np.array([0, 2]),
        "keys": np.array([[1, 2], [0, 1]]),
        "wheel": np.array([[0.5, -0.5], [1.0, 0.25]], np.float32),
    }
    step = env.step(actions)
    vector, gear = step.observations["place"]
    assert gear.tolist() == [2, 4]  # the environment counts from 2
    assert vector.dtype == np.float32
    assert vector.tolist() == actions["wheel"].tolist()
    assert step.observations["image"].shape == (2, 3, 2, 1)
    assert step.rewards.tolist() == [3.0, 1.0]


def test_a_missing_part_of_an_action_is_named(env):
    env.reset()
    with pytest.raises(EnvironmentFailure, match="actions gear are missing; give Dict"):
        env.step({"wheel": np.zeros((2, 2)), "keys": np.zeros((2, 2), int)})


def test_actions_of_the_caller_stay_as_they_are(env):
    env.reset()
    actions = random_actions(env, 1)[0]
    copies = {key: value.copy() for key, value in actions.items()}
    env.step(actions)
    env.restore(env.snapshot())
    assert all(np.array_equal(actions[key], copies[key]) for key in copies)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_integers_of_any_width_are_taken(dtype):
    env = make_env("cartpole", 8)
    env.reset()
    assert env.step(np.ones(8, dtype)).rewards.tolist() == [1.0] * 8
