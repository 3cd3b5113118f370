"""What Ape-X's actors compute: windows of n steps, and priorities from the Q-values of acting."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import ExecutionError
from rlg.graph.components.algorithms.apex import ApexDQN
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest

T, B, GAMMA = 7, 3, 0.9
STATES, CHOICE = Box((2,)), IntBox(3)


def built(backend, n_step, actions=CHOICE, apis=("act", "prepare")):
    policy = {"type": "q_policy", "network": {"type": "mlp", "units": [4]}}
    loss = {"type": "dqn_loss", "gamma": GAMMA, "double": False}
    memory = {"type": "prioritized_replay", "buffer_size": 100}
    root = ApexDQN(policy, actions, memory, loss=loss, n_step=n_step)
    steps = {
        "states": STATES,
        "q_values": Box((*actions.shape, 3)),
        "actions": actions,
        "rewards": FloatBox(),
        "terminals": BoolBox(),
        "truncations": BoolBox(),
        "next_states": STATES,
    }
    flat = {k: v for k, v in steps.items() if k not in ("q_values", "truncations")}
    records = Dict({**flat, "discounts": FloatBox()})
    spaces = {
        "states": STATES,
        "epsilon": FloatBox(),
        "records": Dict(steps).with_ranks("TB"),
        "insert.records": records,
        "update_from.records": records,
        "weights": FloatBox(),
        "priorities": FloatBox(),
        "keys": IntBox(),
        "beta": FloatBox(ranks=""),
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


def segment(q_values, actions, rewards, terminals, truncations):
    """A task with numbered states."""
    rows = len(rewards)
    numbers = np.arange(rows * B, dtype="float32").reshape(rows, B)
    return {
        "states": np.stack([numbers, -numbers], -1),
        "q_values": q_values,
        "actions": actions,
        "rewards": rewards,
        "terminals": terminals,
        "truncations": truncations,
        "next_states": np.stack([numbers + 0.5, numbers], -1),
    }


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
    steps = segment(*inputs)
    found, priorities = test.call("prepare", steps)
    for time in range(T):
        for env in range(B):
            record = time * B + env
            total, ended, discount, row, error = by_hand(*inputs, n_step, time, env)
            expected = {
                "rewards": total,
                "terminals": ended,
                "discounts": discount,
                "states": steps["states"][time, env],
                "actions": steps["actions"][time, env],
                "next_states": steps["next_states"][row - 1, env],
            }
            assert found.keys() == expected.keys()
            for name, value in expected.items():
                np.testing.assert_allclose(found[name][record], value, rtol=1e-4, err_msg=name)
            np.testing.assert_allclose(priorities[record], error, rtol=1e-4)
    assert {len(value) for value in found.values()} == {T * B}
    assert priorities.shape == (T * B,)


def test_what_actors_prepare_and_memories_store_is_what_one_process_observes(backend):
    options = {"apis": ("prepare", "insert", "observe", "sample", "update_priorities")}
    whole, parted = built(backend, 3, **options), built(backend, 3, **options)
    steps = segment(*task(3 + T))
    whole.call("observe", steps)
    parted.call("insert", *parted.call("prepare", steps))
    mine, other = (test.call("sample", 12, np.float32(0.4)) for test in (whole, parted))
    for name, value in mine[0].items():
        np.testing.assert_array_equal(value, other[0][name])
    for one, two in zip(mine[1:], other[1:], strict=True):
        np.testing.assert_array_equal(one, two)
    _, keys, weights, total, least = other
    priorities = (by_leaves(parted.call("prepare", steps)[1]), keys)
    assert total == pytest.approx(priorities[0].sum(), rel=1e-5)
    assert least == pytest.approx(priorities[0].min(), rel=1e-5)
    np.testing.assert_allclose(weights, (least / priorities[0][keys]) ** 0.4, rtol=1e-4)
    # Keys of records that don't exist (any more) are counted and ignored.
    assert parted.call("update_priorities", np.array([0, 1, 10**7]), np.float32([1, 2, 3])) == 1


def test_torch_and_tensorflow_agree_over_100_updates():
    one, two = (built(name, 3, apis=("update_from", "sync_target")) for name in ("torch", "tf"))
    flat = {"states": STATES, "actions": CHOICE, "rewards": FloatBox(), "terminals": BoolBox()}
    records_of = Dict({**flat, "next_states": STATES, "discounts": FloatBox(0.0, 1.0)}).sample
    for seed in range(100):
        records = records_of(seed, batch=16)
        (loss, _, sizes), (other, _, others) = (t.call("update_from", records) for t in (one, two))
        np.testing.assert_allclose(loss, other, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(sizes, others, rtol=1e-3, atol=1e-4)
        if seed % 10 == 9:
            one.call("sync_target")
            two.call("sync_target")
    weights = two.executor.get_weights(trainable=None)
    for path, value in one.executor.get_weights(trainable=None).items():
        np.testing.assert_allclose(weights[path], value, atol=1e-4, err_msg=path)


def by_leaves(sizes):
    return (np.abs(sizes) + 1e-6) ** 0.6


def test_a_task_without_a_whole_window_is_refused(backend):
    with pytest.raises(ExecutionError, match=r"has 3 rows or fewer. Hand in n_step \+ T"):
        built(backend, 3).call("prepare", segment(*task(3)))


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
