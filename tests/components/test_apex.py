"""What Ape-X's actors compute: windows of n steps, and priorities from the Q-values of acting."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import ExecutionError
from rlg.graph.components.algorithms.apex import ApexDQN
from rlg.graph.spaces import BoolBox, Box, FloatBox, IntBox
from rlg.testing import ComponentTest

T, B, GAMMA = 7, 3, 0.9
STATES, CHOICE = Box((2,)), IntBox(3)


def built(backend, n_step, actions=CHOICE, apis=("act", "prepare")):
    policy = {"type": "q_policy", "network": {"type": "mlp", "units": [4]}}
    loss = {"type": "dqn_loss", "gamma": GAMMA, "double": False}
    root = ApexDQN(policy, actions, loss=loss, n_step=n_step)
    spaces = {
        "states": STATES,
        "epsilon": FloatBox(),
        "q_values": Box((*actions.shape, 3), ranks="TB"),
        "actions": actions.with_ranks("TB"),
        "rewards": FloatBox(ranks="TB"),
        "terminals": BoolBox(ranks="TB"),
        "truncations": BoolBox(ranks="TB"),
    }
    return ComponentTest(root, spaces, backend, apis=list(apis))


def task(rows, shape=(), seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(rows, B, *shape, 3)).astype("float32"),
        rng.integers(0, 3, (rows, B, *shape)),
        rng.normal(size=(rows, B)).astype("float32"),
        rng.random((rows, B)) < 0.2,
        rng.random((rows, B)) < 0.2,
    )


def by_hand(q, actions, rewards, terminals, truncations, n_step, time, env):
    """One record: sum, whether it ends, discount, next row, and its TD error."""
    total, discount, row = 0.0, 1.0, time
    for _ in range(n_step):
        total += discount * rewards[row, env]
        discount *= GAMMA
        row += 1
        if terminals[row - 1, env] or truncations[row - 1, env]:
            break
    ended, cut = terminals[row - 1, env], truncations[row - 1, env]
    value = 0.0 if ended else q[row - 1 if cut else row, env].max(-1)
    chosen = np.take_along_axis(q[time, env], actions[time, env, ..., None], -1)[..., 0]
    error = np.abs(total + discount * value - chosen).mean()
    return total, ended, discount, row, error


@pytest.mark.parametrize("shape", [(), (2,)], ids=["one-action", "sub-actions"])
@pytest.mark.parametrize("n_step", [1, 3])
def test_records_and_priorities_are_those_of_a_loop(n_step, shape, backend):
    test = built(backend, n_step, IntBox(3, shape=shape))
    inputs = task(n_step + T, shape)
    found = test.call("prepare", *inputs)
    names = ("rewards", "terminals", "discounts", "next_rows", "priorities")
    for time in range(T):
        for env in range(B):
            expected = by_hand(*inputs, n_step, time, env)
            for name, value in zip(names, expected, strict=True):
                np.testing.assert_allclose(found[name][time, env], value, rtol=1e-4, err_msg=name)
    assert {value.shape for value in found.values()} == {(T, B)}


def test_a_task_without_a_whole_window_is_refused(backend):
    with pytest.raises(ExecutionError, match=r"has 3 rows or fewer. Hand in n_step \+ T"):
        built(backend, 3).call("prepare", *task(3))


def test_acting_returns_the_q_values_that_it_went_by(backend):
    test = built(backend, 1)
    states = STATES.sample(0, 50)
    actions, q_values = test.call("act", states, np.zeros(50, "float32"))
    np.testing.assert_array_equal(actions, q_values.argmax(-1))
    greedy, same = test.call("act", states, np.ones(50, "float32"), explore=False)
    np.testing.assert_array_equal(greedy, actions)
    np.testing.assert_array_equal(same, q_values)
    # Each environment has an epsilon of its own.
    epsilon = np.repeat(np.float32([0.0, 1.0]), 25)
    actions, _ = test.call("act", states, epsilon)
    np.testing.assert_array_equal(actions[:25], greedy[:25])
    assert (actions[25:] != greedy[25:]).any()
