"""DQN with priorities: weights belong to the loss, plain TD errors to the memory."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.graph.components.algorithms.dqn import DQN
from rlg.graph.components.algorithms.recurrent_dqn import RecurrentDQN
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest

FRAMEWORKS = pytest.mark.parametrize("backend", ["torch", "tf"])
NUMBER = FloatBox(0.0, 1.0, ranks="")
RECORDS = {
    "states": Box((2,)),
    "actions": IntBox(2),
    "rewards": FloatBox(),
    "terminals": BoolBox(),
    "next_states": Box((2,)),
}


def learner(backend, alpha=1.0, **options):
    policy = {"type": "q_policy", "network": {"type": "stack", "layers": ["flatten"]}}
    memory = {"type": "prioritized_replay", "buffer_size": 4, "alpha": alpha, "epsilon": 1e-3}
    component = DQN(
        policy,
        IntBox(2),
        memory=memory,
        optimizer={"type": "sgd", "learning_rate": 0.5},
        loss={"type": "dqn_loss", "gamma": 0.5},
        **options,
    )
    spaces = {
        "states": Box((2,)),
        "epsilon": NUMBER,
        "beta": NUMBER,
        "learning_rate": NUMBER,
        "weights": FloatBox(),
        "records": Dict(RECORDS),
    }
    test = ComponentTest(component, spaces, backend, apis=["observe", "update", "update_from"])
    zeros = {"kernel": np.zeros((2, 2)), "bias": np.zeros(2)}
    test.write({f"policy/head/output/{name}": value for name, value in zeros.items()})
    return test


def observe(test, rewards):
    """Terminal steps in one state: with Q = 0 the TD errors are the rewards."""
    n = len(rewards)
    test.call(
        "observe",
        {
            "states": np.tile(np.float32([1.0, 0.0]), (n, 1)),
            "actions": np.zeros(n, "int64"),
            "rewards": np.float32(rewards),
            "terminals": np.ones(n, bool),
            "next_states": np.zeros((n, 2), "float32"),
        },
    )


@FRAMEWORKS
def test_td_errors_become_priorities_in_the_same_call(backend):
    test = learner(backend)
    observe(test, [1.0, -3.0])
    test.call("update", 2, beta=1.0)
    leaves = test.read("memory/tree/sums")[4:6]
    np.testing.assert_allclose(leaves, [1.001, 3.001], rtol=1e-5)


@FRAMEWORKS
def test_importance_weights_multiply_the_loss_once_and_no_priority(backend):
    test = learner(backend)
    observe(test, [1.0, -3.0])
    test.call("update", 2, beta=0.0, learning_rate=0.0)
    # Priorities 1.001 and 3.001; with beta = 1 weights are 1 and 1.001 / 3.001 = 0.33356.
    loss, td_errors = test.call("update", 2, beta=1.0, learning_rate=0.0)
    weights = np.where(td_errors > 0, 1.0, 1.001 / 3.001)
    np.testing.assert_allclose(loss, np.mean(weights * 0.5 * td_errors**2), rtol=1e-5)
    np.testing.assert_allclose(test.read("memory/tree/sums")[4:6], [1.001, 3.001], rtol=1e-5)


@FRAMEWORKS
def test_a_rate_of_zero_leaves_the_weights_and_a_rate_given_beats_the_constant(backend):
    test = learner(backend)
    observe(test, [2.0])
    test.call("update", 1, beta=1.0, learning_rate=0.0)
    np.testing.assert_array_equal(test.read("policy/head/output/bias"), [0.0, 0.0])
    # The gradient of 0.5 * (2 - q)^2 at q = 0 is -2, the rate 0.25.
    test.call("update", 1, beta=1.0, learning_rate=0.25)
    np.testing.assert_allclose(test.read("policy/head/output/bias"), [0.5, 0.0], rtol=1e-5)


@FRAMEWORKS
def test_records_with_large_errors_are_learned_from_more_often(backend):
    test = learner(backend)
    observe(test, [0.1, 4.0, 0.1, 0.1])
    test.call("update", 4, beta=0.0, learning_rate=0.0)
    _, td_errors = test.call("update", 40, beta=0.0, learning_rate=0.0)
    # 4.001 of 4.304 in all: 37.2 of 40, stratified.
    assert 36 <= np.sum(td_errors > 1.0) <= 39


@FRAMEWORKS
def test_steps_whose_next_state_is_unknown_count_in_no_sequences_priority(backend):
    policy = {"type": "recurrent_q_policy", "network": {"type": "lstm", "units": 2}}
    memory = {"type": "prioritized_replay", "buffer_size": 4, "alpha": 1.0, "epsilon": 1e-9}
    root = RecurrentDQN(policy, IntBox(2), memory=memory)
    records = Dict(
        states=Box((4, 2)),
        resets=BoolBox((4,)),
        actions=IntBox(2, shape=(3,)),
        rewards=Box((3,)),
        terminals=BoolBox((3,)),
        masks=Box((3,)),
    )
    test = ComponentTest(
        root,
        {"records": records, "beta": NUMBER},
        backend,
        apis=["observe", "update", "update_from"],
    )
    zeros = {"kernel": np.zeros((2, 2)), "bias": np.zeros(2)}
    test.write({f"policy/head/output/{name}": value for name, value in zeros.items()})
    # Terminal steps: with Q = 0 the TD errors are the rewards, but for the masked 9.
    batch = {
        "states": np.ones((1, 4, 2), "float32"),
        "resets": np.zeros((1, 4), bool),
        "actions": np.zeros((1, 3), "int64"),
        "rewards": np.float32([[1.0, 2.0, 9.0]]),
        "terminals": np.ones((1, 3), bool),
        "masks": np.float32([[1.0, 1.0, 0.0]]),
    }
    test.call("observe", batch)
    _, td_errors = test.call("update", 1, beta=np.float32(0.0))
    np.testing.assert_allclose(td_errors, [[1.0, 2.0, 0.0]], atol=1e-6)
    leaf = test.read("memory/tree/sums")[4]
    np.testing.assert_allclose(leaf, 0.9 * 2.0 + 0.1 * 1.0, rtol=1e-5)
