"""Actor-critics that remember: steps and sequences agree, and episodes begin afresh."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import ComponentError
from rlg.graph.components.policies.recurrent import RecurrentActorCritic
from rlg.graph.components.policies.recurrent_q import RecurrentQPolicy
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest

MLP = {"type": "mlp", "units": [4], "activation": "tanh"}
SPACE = Dict(a=IntBox(3), b=FloatBox(-1.0, 1.0, (2,)))
T, B = 5, 3


def built(kind, backend, apis, **options):
    policy = RecurrentActorCritic({"type": kind, "units": 4, "network": MLP}, SPACE, **options)
    step = {"states": Box((2,)), "resets": BoolBox(), "actions": SPACE}
    spaces = {
        **{f"act.{name}": space for name, space in step.items() if name != "actions"},
        **{name: space.with_ranks("TB") for name, space in step.items()},
        "hidden": policy.hidden_space,
    }
    return ComponentTest(policy, spaces, backend, apis=apis), policy.hidden_space


@pytest.mark.parametrize(
    ("kind", "options"),
    [("lstm", {}), ("gru", {}), ("gru", {"separate": True}), ("gru", {"value_network": MLP})],
)
def test_a_sequence_is_evaluated_as_it_was_acted(kind, options, backend):
    test, space = built(kind, backend, ["act", "evaluate", "values"], **options)
    states = Box((2,), ranks="TB").sample(0, B, T)
    resets = np.random.default_rng(0).random((T, B)) < 0.3
    hidden = first = space.sample(1, B)
    steps = []
    for t in range(T):
        *step, hidden = test.call("act", states[t], hidden, resets[t])
        steps.append(step)
    actions = {key: np.stack([step[0][key] for step in steps]) for key in "ab"}
    log_probs, values = (np.stack([step[i] for step in steps]) for i in (1, 2))
    got, entropy, again = test.call("evaluate", states, actions, first, resets)
    np.testing.assert_allclose(got, log_probs, atol=1e-3)
    np.testing.assert_allclose(again, values, atol=1e-5)
    assert entropy.shape == (T, B)
    test.test("values", states, first, resets, expected=values)


def test_where_an_episode_begins_nothing_is_remembered(backend):
    test, space = built("lstm", backend, ["act"])
    states, resets = Box((2,)).sample(0, 2), np.array([True, False])
    zeros = space.zeros(2)
    one = test.call("act", states, space.sample(1, 2), resets, explore=False)
    two = test.call("act", states, zeros, resets, explore=False)
    assert one[2][0] == two[2][0]
    assert one[2][1] != two[2][1]


def test_a_network_without_memory_is_refused():
    with pytest.raises(ComponentError, match=r"MLP is not recurrent. Give a recurrent network"):
        RecurrentActorCritic(MLP, SPACE)


def test_a_separate_value_network_has_a_memory_of_its_own():
    test, space = built("gru", "numpy", ["act"], separate=True)
    assert set(space) == {"policy", "value"}
    states, resets = Box((2,)).sample(0, B), np.zeros(B, bool)
    zeros, ones = space.zeros(B), np.ones((B, 4), "float32")
    plain = test.call("act", states, zeros, resets, explore=False)
    other = test.call("act", states, {**zeros, "value": ones}, resets, explore=False)
    np.testing.assert_array_equal(other[1], plain[1])  # Log-probabilities depend on the policy's,
    assert np.abs(other[2] - plain[2]).min() > 1e-4  # values on the value network's.
    assert np.abs(other[3]["value"] - plain[3]["value"]).min() > 1e-4


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_q_values_of_a_sequence_are_those_of_its_steps(kind, backend):
    policy = RecurrentQPolicy({"type": kind, "units": 4, "network": MLP}, IntBox(3))
    spaces = {
        "act.states": Box((2,)),
        "act.resets": BoolBox(),
        "states": Box((2,), ranks="BT"),
        "resets": BoolBox(ranks="BT"),
        "hidden": policy.hidden_space,
    }
    test = ComponentTest(policy, spaces, backend)
    states = Box((2,), ranks="BT").sample(0, B, T)
    resets = np.random.default_rng(0).random((B, T)) < 0.3
    hidden = policy.hidden_space.zeros(B)
    steps = []
    for t in range(T):
        q_values, hidden = test.call("act", states[:, t], hidden, resets[:, t])
        steps.append(q_values)
    test.test("q_values", states, resets, expected=np.stack(steps, 1))


def test_a_q_policy_that_remembers_wants_a_network_that_does():
    with pytest.raises(ComponentError, match=r"MLP is not recurrent\. Give a recurrent"):
        RecurrentQPolicy(MLP, IntBox(3))
