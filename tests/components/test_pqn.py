"""PQN as a root: every number against a second computation, and what acting promises."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.algorithms.pqn import PQN
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest
from tests.components import pqn_oracle as oracle
from tests.components.test_on_policy import rows_of, stack, weights_of

FRAMEWORKS = pytest.mark.parametrize("backend", ["torch", "tf"])
T, B = 6, 4
STATES = Box((3,))
NETWORK = {"type": "mlp", "units": [5], "activation": "tanh", "layer_norm": True}
POLICY = {"type": "q_policy", "network": NETWORK}
CHOICE, SEVERAL = IntBox(3), IntBox(3, shape=(2,))
NUMBER, STEPS = FloatBox(ranks=""), FloatBox(ranks="TB")
RATE = np.float32(3e-3)


def built(root, backend, apis=None):
    batch = {
        "states": STATES.with_ranks("TB"),
        "actions": root.action_space.with_ranks("TB"),
        **dict.fromkeys(("values", "rewards", "bootstrap_values"), STEPS),
        **dict.fromkeys(("terminals", "truncations"), BoolBox(ranks="TB")),
    }
    spaces = {
        "states": STATES,
        "epsilon": NUMBER,
        "batch": Dict(batch),
        "last_values": FloatBox(),
        "learning_rate": NUMBER,
    }
    return ComponentTest(root, spaces, backend, apis=apis)


def segment(test, seed=0):
    """A batch as a run would make it, with ends of both kinds, and the values behind it."""
    rng = np.random.default_rng(seed)
    ends = rng.random((2, T, B)) < 0.2
    ends[:, 2, 1] = True, False
    ends[:, 3, 2] = False, True
    ends[:, 4, 3] = True, True
    rows = {"states": [], "actions": [], "values": []}
    for _ in range(T):
        states = rng.normal(size=(B, 3)).astype("float32")
        actions, values = test.call("act", states, np.float32(0.5))
        for column, value in zip(rows.values(), (states, actions, values), strict=True):
            column.append(value)
    batch = {
        **{name: stack(column) for name, column in rows.items()},
        "rewards": rng.normal(size=(T, B)).astype("float32"),
        "terminals": ends[0],
        "truncations": ends[1],
        "bootstrap_values": rng.normal(size=(T, B)).astype("float32"),
    }
    return batch, rng.normal(size=B).astype("float32")


def records_of(batch, last_values, gamma, lam):
    found = {name: batch[name] for name in ("states", "actions")}
    found["returns"] = oracle.returns(batch, last_values, gamma, lam)
    return {name: x.reshape(T * B, *x.shape[2:]) for name, x in found.items()}


# -- an update ------------------------------------------------------------------------------------
CASES = {
    "choices": (CHOICE, {}),
    "sub-actions": (SEVERAL, {}),
    "one-step": (CHOICE, {"q_lambda": 0.0}),
    "whole-returns": (CHOICE, {"q_lambda": 1.0, "gamma": 0.5}),
    "clipped": (CHOICE, {"max_grad_norm": 0.1}),
    "adam": (CHOICE, {"optimizer": {"type": "adam"}}),
    "odd-sizes": (CHOICE, {"batch_size": 7, "n_epochs": 3}),
}


@FRAMEWORKS
@pytest.mark.parametrize("name", CASES)
def test_an_update_is_that_of_its_paper(name, backend):
    space, changes = CASES[name]
    options = {"n_epochs": 2, "batch_size": 6, "gamma": 0.9, "q_lambda": 0.6, **changes}
    test = built(PQN(POLICY, space, **options), backend)
    steps = oracle.Adam if name == "adam" else oracle.RAdam
    judge = oracle.Oracle(weights_of(test), steps(3e-3), 3, options.get("max_grad_norm", 10.0))
    batch, last = segment(test)
    rows = rows_of(test, T * B, options["n_epochs"], options["batch_size"])
    judge.update(records_of(batch, last, options["gamma"], options["q_lambda"]), rows)
    metrics = test.call("update", batch, last, RATE)
    assert metrics.keys() == judge.figures[0].keys()
    for figure, value in metrics.items():
        np.testing.assert_allclose(value, judge.mean(figure), rtol=2e-5, atol=1e-5, err_msg=figure)
    for path, value in weights_of(test).items():
        np.testing.assert_allclose(value, judge.weights[path], atol=1e-5, err_msg=path)


@FRAMEWORKS
@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((False, False), 1.0 + 0.5 * 3.0),
        ((True, False), 1.0),
        ((False, True), 1.0 + 0.5 * 8.0),
        ((True, True), 1.0),
    ],
)
def test_a_truncated_step_bootstraps_from_where_it_led_and_a_terminal_from_nothing(
    ends, expected, backend
):
    test = built(PQN(POLICY, CHOICE, batch_size=1, n_epochs=1, gamma=0.5), backend)
    output = f"{test.component.path}/policy/{oracle.OUT}"
    test.executor.set_weights({**test.executor.get_weights(), output: np.zeros((5, 3), "float32")})
    batch = {
        "states": np.ones((1, 1, 3), "float32"),
        "actions": np.zeros((1, 1), "int64"),
        "values": np.float32([[0.0]]),
        "rewards": np.float32([[1.0]]),
        "bootstrap_values": np.float32([[8.0]]),
        "terminals": np.array([[ends[0]]]),
        "truncations": np.array([[ends[1]]]),
    }
    metrics = test.call("update", batch, np.float32([3.0]), RATE)
    # Q-values are 0.
    assert metrics["td_error"] == pytest.approx(expected)
    assert metrics["loss"] == pytest.approx(0.5 * expected**2)


def test_torch_and_tensorflow_agree_after_100_updates():
    one, two = (
        built(PQN(POLICY, CHOICE, n_epochs=1, batch_size=12), name) for name in ("torch", "tf")
    )
    for seed in range(100):
        batch, last = segment(one, seed)
        for test in (one, two):
            test.call("update", batch, last, np.float32(1e-3))
    others = weights_of(two)
    for path, value in weights_of(one).items():
        np.testing.assert_allclose(others[path], value, atol=1e-4, err_msg=path)


class Nothing(Component):
    """Stands for processes whose gradients cancel those of this one."""

    @api
    @graph_fn
    def average(self, values: Tensor) -> Tensor:
        return {key: 0.0 * value for key, value in values.items()}


@FRAMEWORKS
def test_gradients_are_averaged_over_processes_before_each_step(backend):
    optimizer = {"type": "radam", "average": Nothing()}
    test = built(PQN(POLICY, CHOICE, optimizer, batch_size=6), backend)
    before = weights_of(test)
    batch, last = segment(test)
    assert test.call("update", batch, last, RATE)["gradient_norm"] == 0.0
    for path, value in weights_of(test).items():
        np.testing.assert_array_equal(value, before[path])


@FRAMEWORKS
def test_without_a_learning_rate_that_of_the_optimizer_holds(backend):
    options = {"n_epochs": 1, "batch_size": 24}
    both = [
        built(PQN(POLICY, CHOICE, {"type": "radam", "learning_rate": rate}, **options), backend)
        for rate in (3e-3, 1.0)
    ]
    batch, last = segment(both[0])
    both[0].call("update", batch, last)
    both[1].call("update", batch, last, RATE)
    others = weights_of(both[1])
    for path, value in weights_of(both[0]).items():
        np.testing.assert_allclose(others[path], value, atol=1e-6, err_msg=path)


# -- acting ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("space", [CHOICE, SEVERAL])
def test_actions_are_the_best_and_values_theirs(space, backend):
    test = built(PQN(POLICY, space), backend, apis=["act", "value"])
    states = 3.0 * STATES.sample(0, 50)
    q = oracle.q_values(
        {path: value.astype("float64") for path, value in weights_of(test).items()}, states, 3
    )
    best = q.argmax(-1) if space is SEVERAL else q.argmax(-1)[:, 0]
    assert len(np.unique(best)) == 3
    for words in ({"explore": False}, {"explore": True}):
        actions, values = test.call("act", states, np.float32(0.0), **words)
        np.testing.assert_array_equal(actions, best)
        np.testing.assert_allclose(values, q.max(-1).mean(-1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(test.call("value", states), q.max(-1).mean(-1), rtol=1e-4, atol=1e-5)


def test_with_epsilon_actions_are_random_and_values_those_of_the_best(backend):
    test = built(PQN(POLICY, CHOICE), backend, apis=["act"])
    states = np.repeat(STATES.sample(0, 1), 3000, 0)
    (greedy, *_), values = test.call("act", states, np.float32(0.0), explore=False)
    actions, others = test.call("act", states, np.float32(1.0))
    np.testing.assert_allclose(np.bincount(actions) / 3000, 1 / 3, atol=0.04)
    np.testing.assert_array_equal(others, values)
    actions, _ = test.call("act", states, np.float32(0.3))
    assert np.mean(actions == greedy) == pytest.approx(0.8, abs=0.03)


def test_acting_without_exploration_changes_nothing(backend):
    test = built(PQN(POLICY, CHOICE), backend, apis=["act"])
    before = test.executor.get_state()
    states = STATES.sample(0, 5)
    first = test.call("act", states, np.float32(1.0), explore=False)
    again = test.call("act", states, np.float32(0.0), explore=False)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    after = test.executor.get_state()
    assert after["streams"] == before["streams"]
    for path, value in before["variables"].items():
        np.testing.assert_array_equal(after["variables"][path], value)


def test_it_starts_as_the_authors_code_does():
    policy = {"type": "q_policy", "network": {**NETWORK, "units": [400]}}
    found = weights_of(built(PQN(policy, CHOICE), "numpy", apis=["act"]))
    for path, size in ((oracle.KERNEL, 3), (oracle.OUT, 400)):
        # Normal with a deviation of 1 / sqrt(inputs), cut at two of them.
        assert np.abs(found[path]).max() <= 2.0 / np.sqrt(size)
        assert found[path].std() == pytest.approx(0.88 / np.sqrt(size), rel=0.06)
    assert not any(value.any() for path, value in found.items() if path.endswith("bias"))
    assert (found[oracle.SCALE] == 1.0).all()


def test_actions_that_are_no_choices_are_refused():
    with pytest.raises(SpaceError, match=r"PQN: action_space is .* must be choices"):
        PQN(POLICY, FloatBox(-1.0, 1.0))
