"""Distributions of returns: projections and losses by literal numbers and by double loops."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import ComponentError
from rlg.graph.components.algorithms.distributional_dqn import DistributionalDQN
from rlg.graph.components.heads.distributional import CategoricalHead, QuantileHead
from rlg.graph.components.losses.distributional import CategoricalDQNLoss, QuantileDQNLoss
from rlg.graph.components.policies.distributional_q import DistributionalQPolicy
from rlg.graph.spaces import BoolBox, Box, FloatBox, IntBox
from rlg.testing import ComponentTest


def loss_test(loss, backend, size, actions=3, branches=()):
    z = Box((*branches, actions, size))
    spaces = {
        "z": z,
        "z_next_target": z,
        "q_next": Box((*branches, actions)),
        "actions": IntBox(actions, shape=branches),
        "rewards": FloatBox(),
        "terminals": BoolBox(),
        "discounts": FloatBox(),
        "items": FloatBox(),
        "weights": FloatBox(),
    }
    return ComponentTest(loss, spaces, backend)


def one(backend, loss, z, z_next, reward, terminal=False, discounts=None):
    """One item with one action: its loss, TD error and priority."""
    test = loss_test(loss, backend, len(z), actions=1)
    given = () if discounts is None else (np.array([discounts], "float32"),)
    found = test.call(
        "compare",
        np.array([[z]], "float32"),
        np.array([0]),
        np.array([reward], "float32"),
        np.array([terminal]),
        np.zeros((1, 1), "float32"),
        np.array([[z_next]], "float32"),
        *given,
    )
    return [float(x[0]) for x in found]


# Atoms 0, 1, 2. A certain next return of 1 (its logit is 50 above the others); the estimate is
# uniform, so that the cross-entropy is log 3 whatever the target, and the divergence log 3 less
# the target's entropy.
LOG3, LOG2 = np.log(3.0), np.log(2.0)


@pytest.mark.parametrize(
    ("reward", "terminal", "target", "divergence"),
    [
        (0.5, False, 1.0, LOG3),  # 0.5 + 0.5 * 1: on an atom
        (0.0, False, 0.5, LOG3 - LOG2),  # half of it to 0, half of it to 1
        (9.0, False, 2.0, LOG3),  # above: all of it to the last atom
        (-9.0, False, 0.0, LOG3),  # below: to the first one
        (1.5, True, 1.5, LOG3 - LOG2),  # the reward alone
    ],
)
def test_a_target_is_shared_between_its_neighbours(backend, reward, terminal, target, divergence):
    loss = CategoricalDQNLoss(gamma=0.5, n_atoms=3, v_min=0.0, v_max=2.0)
    found = one(backend, loss, [0.0, 0.0, 0.0], [0.0, 50.0, 0.0], reward, terminal)
    np.testing.assert_allclose(found, [LOG3, target - 1.0, divergence], atol=1e-5)


def test_discounts_of_windows_replace_gamma(backend):
    options = {"gamma": 0.5, "n_atoms": 3, "v_min": 0.0, "v_max": 2.0}
    loss = CategoricalDQNLoss(**options)
    _, td, _ = one(backend, loss, [0.0] * 3, [0.0, 0.0, 50.0], 0.25, discounts=0.75)
    np.testing.assert_allclose(td, 0.25 + 0.75 * 2.0 - 1.0, atol=1e-5)
    loss = CategoricalDQNLoss(**options)
    _, td, _ = one(backend, loss, [0.0] * 3, [0.0, 0.0, 50.0], 0.25)
    np.testing.assert_allclose(td, 0.25 + 0.5 * 2.0 - 1.0, atol=1e-5)


@pytest.mark.parametrize(
    ("z", "z_next", "delta", "expected"),
    [
        # Quantiles of 1/4 and 3/4. Targets 1 and 3, estimates 0 and 2: errors 1, 3; -1, 1.
        # 0.25 * (0.5 + 2.5) / 2 + (0.25 * 0.5 + 0.75 * 0.5) / 2.
        ([0.0, 2.0], [2.0, 6.0], 1.0, 0.375 + 0.25),
        # Without delta: 0.25 * (1 + 3) / 2 + (0.25 * 1 + 0.75 * 1) / 2.
        ([0.0, 2.0], [2.0, 6.0], None, 0.5 + 0.5),
        # One quantile is the median: half of the Huber loss of 2 - 4, delta 0.5: 0.5 * (2 - 0.25).
        ([4.0], [4.0], 0.5, 0.5 * 0.875),
    ],
)
def test_the_quantile_huber_loss(backend, z, z_next, delta, expected):
    loss = QuantileDQNLoss(gamma=0.5, huber_delta=delta)
    td = 0.5 * np.mean(z_next) - np.mean(z)
    np.testing.assert_allclose(
        one(backend, loss, z, z_next, 0.0), [expected, td, expected], atol=1e-6
    )


def batch(rng, size, branches=(), n=6):
    z, z_next = (rng.normal(0, 1.5, (n, *branches, 3, size)).astype("float32") for _ in range(2))
    return (
        z,
        rng.integers(0, 3, (n, *branches)),
        rng.normal(0, 2, n).astype("float32"),
        rng.random(n) < 0.3,
        rng.normal(0, 1, (n, *branches, 3)).astype("float32"),
        z_next,
        rng.random(n).astype("float32"),
    )


def softmax(x):
    return np.exp(x) / np.exp(x).sum()


def projected(p, reward, discount, v_min, v_max):
    """Algorithm 1 of Bellemare et al. (2017): a loop over atoms."""
    n = len(p)
    step, m = (v_max - v_min) / (n - 1), np.zeros(n)
    for j in range(n):
        place = (min(max(reward + discount * (v_min + j * step), v_min), v_max) - v_min) / step
        place = round(place, 9)
        low, high = int(np.floor(place)), int(np.ceil(place))
        if low == high:
            m[low] += p[j]
        else:
            m[low] += p[j] * (high - place)
            m[high] += p[j] * (place - low)
    return m


@pytest.mark.parametrize("branches", [(), (2,)])
def test_c51_against_the_loops_of_the_paper(backend, branches):
    rng, v_min, v_max, size = np.random.default_rng(3), -2.0, 3.0, 7
    arguments = z, actions, rewards, terminals, q_next, z_next, discounts = batch(
        rng, size, branches
    )
    items, divergences = np.zeros((6, *branches)), np.zeros((6, *branches))
    for index in np.ndindex(6, *branches):
        b = index[0]
        p_next = softmax(z_next[index][np.argmax(q_next[index])].astype(float))
        m = projected(p_next, rewards[b], 0.0 if terminals[b] else discounts[b], v_min, v_max)
        log_p = np.log(softmax(z[index][actions[index]].astype(float)))
        items[index] = -sum(m * log_p)
        divergences[index] = sum(x * (np.log(x) - y) for x, y in zip(m, log_p, strict=True) if x)
    loss = CategoricalDQNLoss(n_atoms=size, v_min=v_min, v_max=v_max)
    found = loss_test(loss, backend, size, branches=branches).call("compare", *arguments)
    axes = tuple(range(1, 1 + len(branches)))
    np.testing.assert_allclose(found[0], items.mean(axes), atol=1e-5)
    np.testing.assert_allclose(found[2], divergences, atol=1e-5)
    assert found[1].shape == (6, *branches)


@pytest.mark.parametrize("branches", [(), (2,)])
def test_quantiles_against_a_double_loop(backend, branches):
    rng, size = np.random.default_rng(4), 5
    arguments = z, actions, rewards, terminals, q_next, z_next, discounts = batch(
        rng, size, branches
    )
    items, td = np.zeros((6, *branches)), np.zeros((6, *branches))
    for index in np.ndindex(6, *branches):
        b = index[0]
        theta = z[index][actions[index]]
        following = z_next[index][np.argmax(q_next[index])]
        targets = rewards[b] + (0.0 if terminals[b] else discounts[b]) * following
        td[index] = targets.mean() - theta.mean()
        for i in range(size):
            for j in range(size):
                u, tau = targets[j] - theta[i], (2 * i + 1) / (2 * size)
                huber = 0.5 * u * u if abs(u) <= 1.0 else abs(u) - 0.5
                items[index] += abs(tau - (u < 0)) * huber / size
    found = loss_test(QuantileDQNLoss(), backend, size, branches=branches).call(
        "compare", *arguments
    )
    axes = tuple(range(1, 1 + len(branches)))
    np.testing.assert_allclose(found[0], items.mean(axes), atol=1e-5)
    np.testing.assert_allclose(found[1], td, atol=1e-5)


def test_weights_multiply_items_once(backend):
    test = loss_test(QuantileDQNLoss(), backend, 2)
    test.test("loss", [2.0, 4.0], [0.5, 0.25], expected=(1.0, [1.0, 1.0]))


def test_q_values_are_means(backend):
    spaces = {"inputs": Box((2,)), "distributions": Box((2, 3))}
    test = ComponentTest(CategoricalHead(IntBox(2), 3, -1.0, 1.0), spaces, backend)
    z = np.log([[[0.25, 0.25, 0.5], [1.0, 1e-9, 1e-9]]])
    test.test("means", z.astype("float32"), expected=[[0.25, -1.0]])
    test = ComponentTest(QuantileHead(IntBox(2), 3), spaces, backend)
    test.test("means", [[[1.0, 2.0, 6.0], [0.0, -3.0, 0.0]]], expected=[[3.0, -1.0]])


def test_a_dueling_head_adds_the_value_to_centred_advantages(backend):
    test = ComponentTest(
        QuantileHead(IntBox(2), 2, dueling=True),
        {"inputs": Box((1,))},
        backend,
        apis=["call", "distributions"],
    )
    test.write(
        {
            "value/dense-0/kernel": [[10.0, 20.0]],
            "value/dense-0/bias": [0.0, 0.0],
            "advantages/dense-0/kernel": [[1.0, 2.0, 3.0, 8.0]],
            "advantages/dense-0/bias": [0.0, 0.0, 0.0, 0.0],
        }
    )
    # Advantages of action 0: 1, 2; of action 1: 3, 8; their means: 2, 5.
    expected = [[[10.0 - 1.0, 20.0 - 3.0], [10.0 + 1.0, 20.0 + 3.0]]]
    test.test("distributions", [[1.0]], expected=expected)
    test.test("call", [[1.0]], expected=[[13.0, 17.0]])


def test_atoms_that_are_none_are_refused():
    with pytest.raises(ComponentError, match=r"3 atoms from v_min=2.0 to v_max=1.0; v_min must be"):
        ComponentTest(CategoricalHead(IntBox(2), 3, 2.0, 1.0), {"inputs": Box((2,))})
    with pytest.raises(ComponentError, match=r"QHead has no distributions"):
        DistributionalQPolicy({"type": "mlp"}, IntBox(2), "q_head")


def test_head_and_loss_agree_on_their_atoms():
    policy = {"type": "distributional_q_policy", "network": {"type": "mlp", "units": [2]}}
    loss = {"type": "categorical_dqn_loss", "v_max": 20.0}
    with pytest.raises(ComponentError, match=r"v_max of the policy's CategoricalHead is 10.0, tha"):
        DistributionalDQN(policy, IntBox(2), loss=loss)
    with pytest.raises(ComponentError, match=r"n_atoms of .* is 51, .* QuantileDQNLoss is None"):
        DistributionalDQN(policy, IntBox(2), loss="quantile_dqn_loss")
