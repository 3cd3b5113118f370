"""Recurrent replay: stored states, burn-in, overlapping sequences and rescaled values."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.dqn import DQNAgent
from rlg.errors import ComponentError
from rlg.execution.adders import Sequences
from rlg.graph.components.algorithms.recurrent_dqn import RecurrentDQN
from rlg.graph.components.losses.dqn import DQNLoss
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest

LENGTH, UNITS = 6, 4
RECORDS = Dict(
    states=Box((LENGTH + 1, 3)),
    resets=BoolBox((LENGTH + 1,)),
    actions=IntBox(2, shape=(LENGTH,)),
    rewards=Box((LENGTH,)),
    terminals=BoolBox((LENGTH,)),
    masks=FloatBox(0.0, 1.0, (LENGTH,)),
    hidden=Dict(c=Box((UNITS,)), h=Box((UNITS,))),
)


def learner(backend, **options):
    network = {"type": "lstm", "units": UNITS, "network": {"type": "mlp", "units": [5]}}
    policy = {"type": "recurrent_q_policy", "network": network}
    spaces = {"records": RECORDS, "weights": FloatBox()}
    root = RecurrentDQN(policy, IntBox(2), **options)
    return ComponentTest(root, spaces, backend, apis=["update_from", "sync_target"])


def sequences():
    records = RECORDS.sample(0, batch=5)
    records["resets"] = np.zeros_like(records["resets"])
    records["resets"][0, 4] = True
    records["masks"] = np.ones_like(records["masks"])
    return records


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_a_burn_in_changes_nothing_but_what_is_learned_from(backend):
    records = sequences()
    _, whole, _ = learner(backend, stored_state=True).call("update_from", records)
    loss, late, priorities = learner(backend, stored_state=True, burn_in=2).call(
        "update_from", records
    )
    assert whole.shape == (5, LENGTH)
    np.testing.assert_allclose(late, whole[:, 2:], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(loss, 0.5 * np.mean(late**2), rtol=1e-4)
    sizes = np.abs(late)
    expected = 0.9 * sizes.max(1) + 0.1 * sizes.mean(1)
    np.testing.assert_allclose(priorities, expected, rtol=1e-4)


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_importance_weights_multiply_sequences_and_masks_their_steps(backend):
    records = sequences()
    records["masks"][1, 2:4] = 0.0
    test, weights = learner(backend), np.float32([0.5, 1.0, 0.0, 0.25, 2.0])
    loss, errors, _ = test.call("update_from", records, weights)
    assert (errors[1, 2:4] == 0.0).all()
    assert np.count_nonzero(errors) == 28
    np.testing.assert_allclose(loss, np.mean(weights[:, None] * 0.5 * errors**2), rtol=1e-4)


def test_torch_and_tensorflow_agree_over_30_updates():
    options = {
        "stored_state": True,
        "burn_in": 2,
        "loss": {"type": "dqn_loss", "gamma": 0.9, "value_rescaling": True},
        "optimizer": {"type": "adam", "learning_rate": 1e-3},
    }
    one, two = (learner(backend, **options) for backend in ("torch", "tf"))
    for seed in range(30):
        records = RECORDS.sample(seed, batch=5)
        (loss, *_), (other, *_) = (test.call("update_from", records) for test in (one, two))
        np.testing.assert_allclose(loss, other, rtol=1e-4, atol=1e-5)
        if seed % 10 == 9:
            one.call("sync_target")
            two.call("sync_target")
    others = two.executor.get_weights(trainable=None)
    for path, value in one.executor.get_weights(trainable=None).items():
        np.testing.assert_allclose(others[path], value, atol=1e-4, err_msg=path)


def test_a_stored_state_counts_until_an_episode_begins():
    records = sequences()
    other = {**records, "hidden": {k: v + 1.0 for k, v in records["hidden"].items()}}
    found = [
        learner("torch", stored_state=True).call("update_from", r)[1] for r in (records, other)
    ]
    differs = np.abs(found[0] - found[1]) > 1e-6
    assert differs[1:].any(1).all()
    # Row 0: the step before the reset looks at the value behind it; then nothing is left.
    assert not differs[0, 4:].any()
    without = [learner("torch").call("update_from", r)[1] for r in (records, other)]
    np.testing.assert_array_equal(*without)


def steps(first, count):
    """Numbered steps of one environment."""
    numbers = np.arange(first, first + count, dtype="float32")[:, None]
    return {
        "states": numbers[..., None],
        "actions": np.zeros((count, 1), np.int64),
        "rewards": numbers,
        "terminals": np.zeros((count, 1), np.bool_),
        "truncations": np.zeros((count, 1), np.bool_),
        "next_states": numbers[..., None] + 1.0,
        "hidden": 100.0 + numbers[..., None],
    }


def test_sequences_overlap_by_the_burn_in():
    adder = Sequences(5, burn_in=2, hidden=Box((1,)))
    assert list(adder.batches(steps(0, 4))) == []
    (batch,) = adder.batches(steps(4, 8))
    assert batch.size == 9  # three sequences, three new steps each
    np.testing.assert_array_equal(
        batch.records["rewards"], [[0, 1, 2, 3, 4], [3, 4, 5, 6, 7], [6, 7, 8, 9, 10]]
    )
    np.testing.assert_array_equal(batch.records["states"][:, -1, 0], [5, 8, 11])
    np.testing.assert_array_equal(batch.records["hidden"], [[100], [103], [106]])
    (batch,) = adder.batches(steps(12, 2))
    np.testing.assert_array_equal(batch.records["rewards"], [[9, 10, 11, 12, 13]])


def test_steps_that_do_not_tell_their_state_have_zeros():
    known = steps(0, 5)
    del known["hidden"]
    (batch,) = Sequences(5, hidden=Box((1,))).batches(known)
    np.testing.assert_array_equal(batch.records["hidden"], [[0.0]])


def test_rescaled_targets(backend):
    q = Box((1,))
    spaces = {"q": q, "q_next": q, "q_next_target": q, "actions": IntBox(1), "td": FloatBox()}
    spaces |= {"rewards": FloatBox(), "terminals": BoolBox(), "weights": FloatBox()}
    spaces |= {"discounts": FloatBox()}
    test = ComponentTest(DQNLoss(gamma=0.5, value_rescaling=True), spaces, backend)
    # h(8) = sqrt(9) - 1 + 0.008; h(-3) = -(sqrt(4) - 1) - 0.003.
    q_next = np.array([[2.008], [-1.003], [50.0]], "float32")
    rewards, terminals = np.array([-1.0, 1.5, 15.0], "float32"), np.array([False, False, True])
    td = test.call("td_errors", np.zeros((3, 1)), [0, 0, 0], rewards, terminals, q_next, q_next)
    # Targets -1 + 4, 1.5 - 1.5, 15, then h of them.
    np.testing.assert_allclose(td, [1.003, 0.0, 3.015], atol=2e-3)


def agent(network="lstm", **options):
    made = DQNAgent(
        Box((3,)),
        IntBox(2),
        network={"type": network, "units": 4} if network == "lstm" else network,
        sequence_length=4,
        batch_size=2,
        **options,
    )
    made.build(BuildOptions("torch"))
    return made


def test_an_agent_stores_what_it_remembered():
    made = agent(stored_state=True, burn_in=1)
    state = made.state_space.zeros(2)
    action = made.act(np.ones((2, 3), "float32"), state, np.ones(2, bool), made.clock)
    assert action.columns["hidden"] is state
    assert np.abs(action.state["h"]).max() > 0
    assert set(made.columns) == {"actions", "hidden"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"network": "mlp", "burn_in": 2}, "are for recurrent networks"),
        ({"network": "mlp", "stored_state": True}, "are for recurrent networks"),
        ({"burn_in": 4}, "burn_in is 4, but a sequence has 4 steps"),
        (
            {"network": "mlp", "value_rescaling": True, "distributional": "quantile"},
            "value_rescaling is for plain Q-values",
        ),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(ComponentError, match=message):
        agent(**options)
