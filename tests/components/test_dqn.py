"""The dueling DQN as a root: it learns, moves its target, and frameworks agree number by number."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from rlg.errors import BackendError
from rlg.graph.components.algorithms.dqn import DQN
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest

FRAMEWORKS = pytest.mark.parametrize("backend", ["torch", "tf", "tf-graph"])
STATES, ACTIONS = Box((2,)), IntBox(2)
SPACES = {
    "states": STATES,
    "epsilon": FloatBox(0.0, 1.0, ranks=""),
    "records": Dict(
        states=STATES,
        actions=ACTIONS,
        rewards=FloatBox(),
        terminals=BoolBox(),
        next_states=STATES,
    ),
    "weights": FloatBox(0.0, 1.0),
}


def dqn(backend, apis=None, **options):
    policy = {
        "type": "q_policy",
        "network": {"type": "mlp", "units": [8], "activation": "tanh"},
        "head": {"type": "dueling_head", "units": 4, "activation": "tanh"},
    }
    words = {
        "memory": {"type": "replay", "buffer_size": 64},
        "optimizer": {"type": "adam", "learning_rate": 0.01},
        **options,
    }
    return ComponentTest(DQN(policy, ACTIONS, **words), SPACES, backend, apis=apis)


@cache
def bandit():
    """Two states; the action that names the state earns 1."""
    rng = np.random.default_rng(0)
    states, actions = rng.integers(0, 2, 64), rng.integers(0, 2, 64)
    return {
        "states": np.eye(2, dtype="float32")[states],
        "actions": actions,
        "rewards": (states == actions).astype("float32"),
        "terminals": np.ones(64, bool),
        "next_states": np.eye(2, dtype="float32")[states],
    }


@FRAMEWORKS
def test_it_learns_which_action_fits_the_state(backend):
    test = dqn(backend)
    test.call("observe", bandit())
    losses = [test.call("update", 32)[0] for _ in range(100)]
    assert losses[-1] < 0.01 < losses[0]
    states = np.eye(2, dtype="float32")
    np.testing.assert_array_equal(test.call("get_actions", states, 0.0), [0, 1])
    np.testing.assert_array_equal(test.call("get_actions", states, 1.0, explore=False), [0, 1])


@cache
def course(backend):
    """Losses and weights of 100 updates with a moving target."""
    test = dqn(backend, tau=0.1, loss={"type": "dqn_loss", "gamma": 0.9, "huber_delta": 1.0})
    records = {**bandit(), "terminals": np.arange(64) % 3 == 0}
    test.call("observe", records)
    losses = []
    for _ in range(100):
        losses.append(test.call("update", 16)[0])
        test.call("sync_target")
    return np.array(losses), test.executor.get_weights(trainable=None)


@pytest.mark.parametrize("backend", ["tf", "tf-graph"])
def test_frameworks_take_the_same_course(backend):
    losses, weights = course(backend)
    expected, others = course("torch")
    np.testing.assert_allclose(losses, expected, rtol=1e-4, atol=1e-5)
    for path, value in others.items():
        np.testing.assert_allclose(weights[path], value, rtol=1e-4, atol=1e-5, err_msg=path)


@FRAMEWORKS
def test_updates_move_the_policy_and_syncs_the_target(backend):
    test = dqn(backend)

    def kernels():
        name = "network/dense-0/kernel"
        return test.read(f"policy/{name}"), test.read(f"target_policy/{name}")

    first, target = kernels()
    np.testing.assert_array_equal(first, target)
    loss, td_errors, _ = test.call("update_from", bandit())
    np.testing.assert_allclose(loss, 0.5 * np.mean(td_errors**2), rtol=1e-5)
    policy, unmoved = kernels()
    assert np.abs(policy - first).max() > 1e-3
    np.testing.assert_array_equal(unmoved, target)
    test.call("sync_target")
    np.testing.assert_array_equal(*kernels())


@FRAMEWORKS
def test_weights_scale_what_is_learned_from_an_item(backend):
    test = dqn(backend, optimizer={"type": "sgd", "learning_rate": 0.1})
    before = test.executor.get_weights()
    test.call("update_from", bandit(), np.zeros(64, "float32"))
    after = test.executor.get_weights()
    assert all(np.array_equal(after[path], value) for path, value in before.items())


def test_an_update_reads_the_memory_and_consumes_one_draw(backend):
    test = dqn(backend)
    streams = test.executor.builder.binding.streams
    before = {path: stream.state for path, stream in streams.items()}
    test.call("observe", bandit())
    if backend == "numpy":
        with pytest.raises(BackendError, match="forward-only"):
            test.call("update", 8)
    else:
        loss, td_errors = test.call("update", 8)
        assert loss.shape == ()
        assert td_errors.shape == (8,)
    drawn = [path for path, stream in streams.items() if stream.state != before[path]]
    assert drawn == ["dqn/memory"]


# One sample, six calls for each of three or two networks, two of the loss, two of the optimizer.
@pytest.mark.parametrize(("double", "calls"), [(True, 23), (False, 17)])
def test_a_plan_calls_each_network_no_more_than_it_must(double, calls):
    test = dqn("numpy", loss={"type": "dqn_loss", "double": double})
    assert test.executor.plan("update").calls == calls
