"""Running statistics inside networks: what moves them, and what leaves them alone."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.graph.components.algorithms.dqn import DQN
from rlg.graph.components.algorithms.recurrent_dqn import RecurrentDQN
from rlg.graph.registry import make
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest

FRAMEWORKS = pytest.mark.parametrize("backend", ["torch", "tf", "tf-graph"])
STATES = Box((3,))
DENSE = {"type": "dense", "units": 4}
# Where statistics can stand, and the path of their count below the network.
NETWORKS = {
    "stack": (
        {"type": "stack", "layers": ["moving_standardize", DENSE]},
        "moving-standardize-0/count",
    ),
    "nested": (
        {
            "type": "stack",
            "layers": [
                {"type": "residual", "layers": ["moving_standardize"]},
                {"type": "repeater_stack", "repeats": 2, "layers": ["layer_norm"]},
                {"type": "preprocessor_stack", "preprocessors": ["moving_standardize"]},
                DENSE,
            ],
        },
        "preprocessor-stack-2/moving-standardize-0/count",
    ),
    "repeated": (
        {"type": "repeater_stack", "repeats": 2, "layers": ["moving_standardize"]},
        "stack-0/moving-standardize-0/count",
    ),
    "residual": (
        {"type": "residual", "layers": ["moving_standardize"]},
        "layers/moving-standardize-0/count",
    ),
    "recurrent": (
        {
            "type": "lstm",
            "units": 2,
            "network": {"type": "stack", "layers": ["moving_standardize"]},
        },
        "network/moving-standardize-0/count",
    ),
}
ROWS = np.arange(12.0, dtype="float32").reshape(4, 3)


def counts(test):
    """How many rows all statistics of the component have seen, by path."""
    variables = test.executor.builder.binding.variables
    root = f"{test.component.path}/"
    return {
        path.removeprefix(root): float(test.read(path.removeprefix(root)))
        for path in variables
        if path.endswith("/count")
    }


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_leaves_its_statistics_alone_unless_it_is_told_to_update(backend, name):
    spec, count = NETWORKS[name]
    test = ComponentTest(make(spec), {"inputs": STATES}, backend)
    test.test("call", ROWS)
    assert set(counts(test).values()) == {0.0}
    test.test("call", ROWS, update=True)
    assert test.read(count) == 4.0
    assert set(counts(test).values()) == {4.0}


def test_networks_of_dict_observations_update_each_of_their_statistics(backend):
    parts = {key: {"type": "stack", "layers": ["moving_standardize"]} for key in "ab"}
    trunk = {"type": "stack", "layers": ["moving_standardize", DENSE]}
    network = make({"type": "multi_input", "networks": parts, "trunk": trunk})
    test = ComponentTest(network, {"inputs": Dict(a=STATES, b=STATES)}, backend)
    test.test("call", {"a": ROWS, "b": ROWS})
    assert list(counts(test).values()) == [0.0, 0.0, 0.0]
    test.test("call", {"a": ROWS, "b": ROWS}, update=True)
    assert list(counts(test).values()) == [4.0, 4.0, 4.0]


POLICIES = {
    "policy": {"type": "policy"},
    "shared": {"type": "actor_critic"},
    "separate": {"type": "actor_critic", "separate": True},
}


@pytest.mark.parametrize("name", POLICIES)
def test_only_acting_with_exploration_moves_the_statistics_of_a_policy(backend, name):
    policy = make({**POLICIES[name], "network": NETWORKS["stack"][0], "action_space": IntBox(2)})
    spaces = {"states": STATES, "actions": IntBox(2), "parameters": Box((2,))}
    test = ComponentTest(policy, spaces, backend)
    acts = {"get_actions", *({"act"} & policy.api_methods().keys())}
    for api in sorted({"log_probs", "entropy", "parameters", "kl", "evaluate", "values"}):
        if api in policy.api_methods():
            test.test(api, *test.sample(api))
    for api in sorted(acts):
        test.test(api, ROWS, explore=False)
    assert set(counts(test).values()) == {0.0}
    # Separate value networks count what `act` shows to both; get_actions has no values.
    api = "act" if "act" in acts else "get_actions"
    test.test(api, ROWS)
    assert set(counts(test).values()) == {4.0}


@pytest.mark.parametrize("separate", [False, True], ids=["shared", "separate"])
def test_only_acting_with_exploration_moves_the_statistics_of_a_recurrent_policy(backend, separate):
    policy = make(
        {
            "type": "recurrent_actor_critic",
            "network": NETWORKS["recurrent"][0],
            "action_space": IntBox(2),
            "separate": separate,
        }
    )
    spaces = {
        "states": STATES.with_ranks("TB"),
        "resets": BoolBox(ranks="TB"),
        "actions": IntBox(2, ranks="TB"),
        "act.states": STATES,
        "act.resets": BoolBox(),
        "hidden": policy.hidden_space,
    }
    test = ComponentTest(policy, spaces, backend, apis=["act", "evaluate", "values"])
    for api in ("evaluate", "values"):
        test.test(api, *test.sample(api))
    inputs = test.sample("act", batch=4)
    test.test("act", *inputs, explore=False)
    assert set(counts(test).values()) == {0.0}
    test.test("act", *inputs)
    assert set(counts(test).values()) == {4.0}


RECORDS = Dict(
    states=STATES, actions=IntBox(2), rewards=FloatBox(), terminals=BoolBox(), next_states=STATES
)


def dqn(backend):
    policy = {"type": "q_policy", "network": NETWORKS["stack"][0]}
    root = DQN(policy, IntBox(2), memory={"type": "replay", "buffer_size": 8})
    spaces = {"states": STATES, "epsilon": FloatBox(ranks=""), "records": RECORDS}
    return ComponentTest(root, spaces, backend)


def test_evaluation_leaves_the_statistics_of_dqn_alone(backend):
    root = DQN({"type": "q_policy", "network": NETWORKS["stack"][0]}, IntBox(2))
    spaces = {"states": STATES, "epsilon": FloatBox(ranks="")}
    test = ComponentTest(root, spaces, backend, apis=["get_actions"])
    test.test("get_actions", ROWS, np.float32(0.0), explore=False)
    assert set(counts(test).values()) == {0.0}
    test.test("get_actions", ROWS, np.float32(0.0))
    assert test.read("policy/network/moving-standardize-0/count") == 4.0


@FRAMEWORKS
def test_updates_of_dqn_count_no_state_again(backend):
    test = dqn(backend)
    test.test("get_actions", ROWS, np.float32(0.0))
    test.test("observe", RECORDS.sample(0, 8))
    before = test.read("policy/network/moving-standardize-0/mean")
    test.test("update", 4)
    assert counts(test) == {
        "policy/network/moving-standardize-0/count": 4.0,
        "target_policy/network/moving-standardize-0/count": 0.0,
    }
    np.testing.assert_array_equal(test.read("policy/network/moving-standardize-0/mean"), before)
    test.test("sync_target")
    assert set(counts(test).values()) == {4.0}


@FRAMEWORKS
def test_only_acting_with_exploration_moves_the_statistics_of_recurrent_dqn(backend):
    policy = {"type": "recurrent_q_policy", "network": NETWORKS["recurrent"][0]}
    root = RecurrentDQN(policy, IntBox(2), memory={"type": "replay", "buffer_size": 8})
    records = Dict(
        states=Box((4, 3)),
        resets=BoolBox((4,)),
        actions=IntBox(2, shape=(3,)),
        rewards=Box((3,)),
        terminals=BoolBox((3,)),
        masks=Box((3,)),
    )
    hidden = Dict(c=Box((2,)), h=Box((2,)))
    spaces = {
        "states": STATES,
        "epsilon": FloatBox(ranks=""),
        "hidden": hidden,
        "resets": BoolBox(),
        "records": records,
    }
    test = ComponentTest(root, spaces, backend)
    acting = (ROWS, np.float32(0.0), hidden.zeros(4), np.ones(4, bool))
    test.test("get_actions", *acting, explore=False)
    test.test("observe", records.sample(0, 4))
    test.test("update", 2)
    assert set(counts(test).values()) == {0.0}
    test.test("get_actions", *acting)
    assert test.read("policy/network/network/moving-standardize-0/count") == 4.0
