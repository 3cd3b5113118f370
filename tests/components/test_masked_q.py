"""Q-values by action masks: what is drawn, what targets are made of, on all backends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.errors import ComponentError
from rlg.graph import Component, api
from rlg.graph.components.algorithms.distributional_dqn import DistributionalDQN
from rlg.graph.components.algorithms.dqn import DQN
from rlg.graph.components.algorithms.pqn import PQN
from rlg.graph.components.explorations.epsilon_greedy import EpsilonGreedy
from rlg.graph.components.losses.dqn import DQNLoss
from rlg.graph.components.policies.q import QPolicy
from rlg.graph.components.policies.recurrent_q import RecurrentQPolicy
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest

FRAMEWORKS = pytest.mark.parametrize("backend", ["torch", "tf", "tf-graph"])
ACTIONS = IntBox(3)
STATES = Dict(seen=Box((3,)), action_mask=IntBox(2, shape=(3,), dtype="int8"))
EPSILON = FloatBox(0.0, 1.0, ranks="")
RECORDS = Dict(
    states=STATES,
    actions=ACTIONS,
    rewards=FloatBox(),
    terminals=BoolBox(),
    next_states=STATES,
)
# The network shows what it sees, so that a policy's kernel says what its Q-values are.
POLICY = {"type": "q_policy", "network": "flatten", "head": "q_head", "sees": ["seen"]}
ONLINE, TARGET = np.eye(3, dtype="float32"), np.eye(3, dtype="float32")[::-1].copy()
SEEN = np.float32([[1.0, 2.0, 3.0]] * 4)
# The third allows nothing, and the fourth is behind the end of an episode.
MASKS = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 0], [0, 0, 0]], np.int8)


def states_of(masks: Any = MASKS) -> dict[str, Any]:
    return {"seen": SEEN[: len(masks)], "action_mask": np.asarray(masks, np.int8)}


def records_of() -> dict[str, Any]:
    """Actions that earn 1 and lead to states whose masks forbid the best one."""
    return {
        "states": states_of(np.ones((4, 3))),
        "actions": np.array([0, 1, 2, 0]),
        "rewards": np.ones(4, "float32"),
        "terminals": np.array([False, False, False, True]),
        "next_states": states_of(),
    }


class Judged(Component):
    """TD errors as a DQN has them, without its gradients."""

    def __init__(self, double: bool) -> None:
        self.policy = QPolicy("flatten", ACTIONS, sees=["seen"])
        self.target = self.policy.copy(scope="target")
        self.loss = DQNLoss(gamma=0.5, double=double)

    @api
    def judge(self, records: Any) -> Any:
        following = records["next_states"]
        return self.loss.td_errors(
            self.policy.q_values(records["states"], masked=False),
            records["actions"],
            records["rewards"],
            records["terminals"],
            self.policy.q_values(following),
            self.target.q_values(following),
        )


# Online 1, 2, 3 for the actions, target 3, 2, 1. Double: the allowed action that is best online is
# the second (target 2), the third (1), and where nothing is allowed the third of all (1). Else the
# target's largest: 3, 2, and 3 of all. Behind the end there is nothing. 1 + 0.5 * target - Q.
TD_ERRORS = {True: [1.0, -0.5, -1.5, 0.0], False: [1.5, 0.0, -0.5, 0.0]}


@pytest.mark.parametrize("double", [True, False])
def test_targets_are_of_actions_that_the_next_mask_allows(backend, double):
    test = ComponentTest(Judged(double), {"records": RECORDS}, backend)
    test.write({"policy/head/output/kernel": ONLINE})
    test.write({"target/head/output/kernel": TARGET})
    np.testing.assert_allclose(test.call("judge", records_of()), TD_ERRORS[double], atol=1e-6)


@FRAMEWORKS
@pytest.mark.parametrize("double", [True, False])
def test_updates_of_a_dqn_have_these_targets(backend, double):
    loss = {"type": "dqn_loss", "gamma": 0.5, "double": double}
    root = DQN(POLICY, ACTIONS, loss=loss, memory={"type": "replay", "buffer_size": 8})
    spaces = {"states": STATES, "epsilon": EPSILON, "records": RECORDS}
    test = ComponentTest(root, spaces, backend, apis=["update_from"])
    for name, kernel in (("policy", ONLINE), ("target_policy", TARGET)):
        layer = f"{name}/head/output"
        test.write({f"{layer}/kernel": kernel, f"{layer}/bias": np.zeros(3)})
    loss, td_errors, _ = test.call("update_from", records_of())
    np.testing.assert_allclose(td_errors, TD_ERRORS[double], atol=1e-6)
    np.testing.assert_allclose(loss, 0.5 * np.square(TD_ERRORS[double]).mean(), rtol=1e-5)
    weights = test.executor.get_weights()
    assert all(np.isfinite(value).all() and np.abs(value).max() < 10 for value in weights.values())


@FRAMEWORKS
def test_an_action_that_was_forbidden_is_learned_from_as_any_other(backend):
    root = DQN(POLICY, ACTIONS, loss={"type": "dqn_loss", "gamma": 0.5})
    test = ComponentTest(root, {"records": RECORDS}, backend, apis=["update_from"])
    for name, kernel in (("policy", ONLINE), ("target_policy", TARGET)):
        layer = f"{name}/head/output"
        test.write({f"{layer}/kernel": kernel, f"{layer}/bias": np.zeros(3)})
    records = {**records_of(), "states": states_of([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 1, 1]])}
    np.testing.assert_allclose(test.call("update_from", records)[1], TD_ERRORS[True], atol=1e-6)


# One return for each action, by atoms 0, 1, 2: online those of their numbers, target 2, 1, 0.
@FRAMEWORKS
@pytest.mark.parametrize(("double", "values"), [(True, [1, 0, 0, 0]), (False, [2, 1, 2, 0])])
def test_distributions_of_the_next_state_are_those_of_allowed_actions(backend, double, values):
    atoms = {"n_atoms": 3, "v_min": 0.0, "v_max": 2.0}
    policy = {
        "type": "distributional_q_policy",
        "network": "flatten",
        "head": {"type": "categorical_head", **atoms},
        "sees": ["seen"],
    }
    loss = {"type": "categorical_dqn_loss", "gamma": 0.5, "double": double, **atoms}
    root = DistributionalDQN(policy, ACTIONS, loss=loss)
    test = ComponentTest(root, {"records": RECORDS}, backend, apis=["update_from"])
    for name, kernel in (("policy", ONLINE), ("target_policy", TARGET)):
        layer = f"{name}/head/advantages/dense-0"
        test.write({f"{layer}/kernel": np.zeros((3, 9))})
        test.write({f"{layer}/bias": 60.0 * kernel.ravel()})
    records = {**records_of(), "actions": np.zeros(4, np.int64), "rewards": np.zeros(4, "float32")}
    expected = 0.5 * np.array(values)  # Q of the first action is 0
    np.testing.assert_allclose(test.call("update_from", records)[1], expected, atol=1e-5)


def test_values_of_pqn_are_maxima_over_allowed_actions(backend):
    root = PQN(POLICY, ACTIONS, exploration={"type": "epsilon_greedy", "masked": True})
    spaces = {"states": STATES, "epsilon": EPSILON}
    test = ComponentTest(root, spaces, backend, apis=["act", "value"])
    test.write({"policy/head/output/kernel": ONLINE})
    for explore in (True, False):
        actions, values = test.call("act", states_of(), 0.0, explore=explore)
        np.testing.assert_array_equal(actions, [1, 2, 2, 2])
        np.testing.assert_allclose(values, [2.0, 3.0, 3.0, 3.0])
    np.testing.assert_allclose(test.call("value", states_of()), [2.0, 3.0, 3.0, 3.0])


def test_sub_actions_have_a_row_of_the_mask_each(backend):
    several = IntBox(3, shape=(2,))
    states = Dict(seen=Box((2,)), action_mask=BoolBox((2, 3)))
    test = ComponentTest(QPolicy("flatten", several, sees=["seen"]), {"states": states}, backend)
    test.write({"head/output/bias": [1, 2, 3, 3, 2, 1]})
    masks = np.array([[[1, 1, 0], [0, 1, 1]], [[0, 0, 1], [0, 0, 0]]], bool)
    given = {"seen": np.zeros((2, 2), "float32"), "action_mask": masks}
    np.testing.assert_array_equal(test.call("greedy", given), [[1, 1], [2, 0]])


def test_q_values_of_sequences_are_masked_step_by_step(backend):
    policy = RecurrentQPolicy({"type": "lstm", "units": 4, "network": None}, ACTIONS, sees=["seen"])
    spaces = {"states": STATES.with_ranks("BT"), "resets": BoolBox(ranks="BT")}
    test = ComponentTest(policy, spaces, backend, apis=["q_values"])
    steps = {name: value[None] for name, value in states_of().items()}
    q_values = test.call("q_values", steps, np.zeros((1, 4), bool))
    assert q_values.shape == (1, 4, 3)
    np.testing.assert_array_equal(q_values[0] == -1e9, (MASKS == 0) & MASKS.any(-1, keepdims=True))


# -- exploration ----------------------------------------------------------------------------------
def test_random_actions_are_uniform_among_allowed_ones(backend):
    root = DQN(POLICY, ACTIONS, exploration={"type": "epsilon_greedy", "masked": True})
    spaces = {"states": STATES, "epsilon": EPSILON}
    test = ComponentTest(root, spaces, backend, apis=["get_actions"])
    masks = np.repeat(np.int8([[1, 0, 1], [0, 1, 0], [1, 1, 1], [0, 0, 0]]), 900, 0)
    seen = np.random.default_rng(0).normal(size=(3600, 3)).astype("float32")
    drawn = test.call("get_actions", {"seen": seen, "action_mask": masks}, 1.0).reshape(4, 900)
    counts = np.array([np.bincount(row, minlength=3) for row in drawn])
    wanted = np.array([[450, 0, 450], [0, 900, 0], [300] * 3, [300] * 3])
    assert (counts[wanted == 0] == 0).all()
    assert np.abs(counts - wanted).max() < 60


def test_explorations_of_sub_actions_keep_to_the_mask_of_each(backend):
    space = IntBox(3, shape=(2,))
    spaces = {"q_values": Box((2, 3)), "epsilon": EPSILON}
    test = ComponentTest(EpsilonGreedy(space, masked=True), spaces, backend)
    q_values = np.float32([[[1, -1e9, -1e9], [-1e9, 2, 3]]] * 200)
    drawn = test.call("explore", q_values, 1.0)
    assert set(drawn[:, 0]) == {0}
    assert set(drawn[:, 1]) == {1, 2}


# -- costs, and mistakes --------------------------------------------------------------------------
def test_masks_are_one_graph_function_and_nothing_without_them():
    spaces = {"states": STATES["seen"], "epsilon": EPSILON}
    plain = ComponentTest(DQN({**POLICY, "sees": None}, ACTIONS), spaces, apis=["get_actions"])
    masked = ComponentTest(DQN(POLICY, ACTIONS), {**spaces, "states": STATES}, apis=["get_actions"])
    sources = [x.executor.plan("get_actions", explore=True).source for x in (plain, masked)]
    assert ["policy.lower" in source for source in sources] == [False, True]
    assert [source.count(" = ") for source in sources] == [3, 4]


@pytest.mark.parametrize("sees", [[], ["seen", "action_mask"]])
def test_a_network_sees_something_and_never_the_mask(sees):
    with pytest.raises(ComponentError, match="name the keys that the network gets"):
        QPolicy("flatten", ACTIONS, sees=sees)
