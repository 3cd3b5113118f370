"""The reference cases of the families `env` and `envstepper`, as they stand in the bank."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.envs import make_env
from tests.bank import CASES, covers


def play(env, actions):
    """States (true last ones), rewards and terminals of one environment."""
    steps = [env.step(np.array([action])) for action in actions]
    return (
        [step.final_observations[0].tolist() for step in steps],
        pytest.approx([float(step.rewards[0]) for step in steps]),
        [bool(step.terminals[0]) for step in steps],
    )


@covers("env.gridworld_2x2")
def test_gridworld_2x2():
    case = CASES["env.gridworld_2x2"]
    inputs, expected = case["inputs"], case["expected"]
    for number, actions in enumerate(inputs["episodes"]):
        env = make_env("grid_world", world=inputs["world"])
        assert env.reset().tolist() == [expected["start"]]
        states, rewards, terminals = play(env, actions)
        assert states == expected["states"][number]
        assert expected["rewards"][number] == rewards
        assert terminals == expected["terminals"][number]


@covers("env.gridworld_long_chain")
def test_gridworld_long_chain():
    case = CASES["env.gridworld_long_chain"]
    env = make_env("grid_world", world="long-chain")
    assert env.observation_space.num_categories == case["inputs"]["width"]
    assert env.reset().tolist() == [case["inputs"]["start"]]
    states, rewards, _ = play(env, case["inputs"]["actions"])
    assert states == case["expected"]["states"]
    assert case["expected"]["rewards"] == rewards


@covers("env.random_deterministic")
def test_random_deterministic():
    case = CASES["env.random_deterministic"]
    env = make_env("random_env", deterministic=True, seed=77)
    assert env.reset()[0] == pytest.approx(np.array(case["expected"]["first_state"]))
    assert env.reset()[0] == pytest.approx(np.array(case["expected"]["first_state"]))


@covers("envstepper.stitching")
def test_stitching():
    case = CASES["envstepper.stitching"]
    inputs = case["inputs"]
    env = make_env("counter", steps_to_terminal=inputs["steps_to_terminal"])
    state = float(env.reset()[0, 0])
    for number in range(inputs["rollouts"]):
        states, terminals = [state], []
        for _ in range(inputs["num_steps"]):
            step = env.step(np.array([0]))
            state = float(step.observations[0, 0])
            states.append(state)
            terminals.append(bool(step.terminals[0]))
        assert states == case["expected"]["states"][number]
        assert terminals == case["expected"]["terminals"][number]
