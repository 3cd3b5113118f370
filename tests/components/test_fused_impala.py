"""Rollouts inside of the graph: steps of environments, values of truncated ones, and what is read
of the learner.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.errors import ExecutionError
from rlg.graph.components.algorithms.fused_impala import FusedIMPALA, FusedRecurrentIMPALA
from rlg.graph.components.common.version import Version
from rlg.graph.components.environments.stepper import Stepper
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest
from tests.execution.parts import Numbered

SEEN = Dict(states=FloatBox(shape=(1,)))
HIDDEN = Dict(policy=Box((2,)), rewards=FloatBox())
MLP = {"type": "mlp", "units": [4], "activation": "tanh"}
ACTIONS = np.zeros(4, np.int64)
FRAMEWORKS = pytest.mark.parametrize("backend", ["torch", "tf", "tf-graph"])


def stepping(backend: str, hidden: Any = None) -> ComponentTest:
    stepper = Stepper(SEEN, hidden)
    # Environments 1 and 3 are cut, after 3 and 2 steps; 0 and 2 end by themselves.
    stepper.attach(Numbered((5, 3, 2, 2)))
    spaces = {"actions": IntBox(2), "truncations": BoolBox(ranks="TB")}
    if hidden is not None:
        spaces["hidden"] = hidden
    return ComponentTest(stepper, spaces, backend)


def test_steps_are_those_of_the_environments(backend):
    test = stepping(backend)
    first = test.component.start()
    assert first["states"][:, 0].tolist() == [0.0, 1000.0, 2000.0, 3000.0]
    seen, rewards, terminals, truncations = test.call("step", ACTIONS)
    assert seen["states"][:, 0].tolist() == [1.0, 1001.0, 2001.0, 3001.0]
    assert rewards.tolist() == [0.0, 1000.0, 2000.0, 3000.0]
    seen, rewards, terminals, truncations = test.call("step", ACTIONS)
    assert seen["states"][:, 0].tolist() == [2.0, 1002.0, 2100.0, 3100.0]
    assert terminals.tolist() == [False, False, True, False]
    assert truncations.tolist() == [False, False, False, True]


def test_a_report_has_true_last_states_by_environment_and_then_by_time(backend):
    test = stepping(backend, HIDDEN)
    test.component.start()
    cut = []
    for number in range(4):
        hidden = {"policy": np.full((4, 2), number, np.float32), "rewards": np.zeros(4, np.float32)}
        cut.append(test.call("step", ACTIONS, hidden)[3])
    found = test.call("report", np.array(cut))
    assert found["final_states"][:, 0].tolist() == [1003.0, 3002.0, 3102.0]
    assert found["final_hidden"]["policy"][:, 0].tolist() == [2.0, 1.0, 3.0]
    assert found["final_hidden"]["rewards"].tolist() == [1002.0, 3001.0, 3101.0]
    assert found["lengths"].tolist() == [2, 2, 3, 2, 2]
    assert found["returns"].tolist() == [2.0, 2.0, 3.0, 2.0, 2.0]
    # What was reported is not reported again.
    empty = test.call("report", np.zeros((1, 4), np.bool_))
    assert empty["final_states"].shape == (0, 1)
    assert empty["final_hidden"]["policy"].shape == (0, 2)
    assert empty["lengths"].shape == empty["returns"].shape == (0,)


def test_a_report_about_other_steps_is_an_error():
    test = stepping("numpy")
    with pytest.raises(ExecutionError, match="0 truncated steps are not those given"):
        test.call("report", np.ones((1, 4), np.bool_))


def test_new_episodes_leave_nothing_of_the_old_ones():
    test = stepping("numpy")
    test.component.start()
    for _ in range(3):
        test.call("step", ACTIONS)
    test.component.start()
    assert test.call("report", np.zeros((1, 4), np.bool_))["lengths"].tolist() == []


def test_nothing_is_stepped_without_environments():
    test = ComponentTest(Stepper(SEEN), {"actions": IntBox(2), "truncations": BoolBox(ranks="TB")})
    with pytest.raises(ExecutionError, match=r"no environments are attached. Call attach\(env\)"):
        test.call("step", ACTIONS)


def test_a_version_is_minus_one_until_it_is_published(backend):
    test = ComponentTest(Version(), {"number": IntBox(ranks="")}, backend)
    test.test("value", expected=-1)
    test.call("publish", np.int64(7))
    test.call("count")
    test.test("value", expected=8)
    assert test.executor.kinds() == {"version/number": "shared"}


# -- the root -------------------------------------------------------------------------------------
def fused(backend: str, env: Any = None, seen: Any = SEEN, look: Any = None) -> ComponentTest:
    env = env or Numbered((5, 3, 2, 2))
    root = FusedIMPALA(
        {"type": "actor_critic", "network": MLP},
        env.action_space,
        seen=seen,
        n_steps=4,
        num_envs=4,
        queue=3,
    )
    root.stepper.attach(env, look)
    apis = ["rollout", "learn", "publish", "published", "waiting", "close", "value"]
    spaces = {"carry": root.carry_space, "actors": IntBox(), "number": IntBox(ranks="")}
    spaces |= {"learn.count": 2, "states": SEEN["states"]}
    return ComponentTest(root, spaces, backend, apis=apis)


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
def test_values_of_truncated_steps_find_their_places(backend):
    class Placing(FusedIMPALA):
        from rlg.graph import api as _api

        @_api
        def place(self, truncations: Any, values: Any) -> Any:
            return self.placed(truncations, values)

    policy = {"type": "actor_critic", "network": MLP}
    root = Placing(policy, IntBox(2), seen=SEEN)
    spaces = {"truncations": BoolBox(ranks="TB"), "values": FloatBox()}
    test = ComponentTest(root, spaces, backend, apis=["place"])
    cut = np.array([[False, True, False], [True, False, False], [True, True, False]])
    values = np.array([9.0, 1.0, 2.0, 3.0, 4.0], np.float32)
    expected = [[0.0, 3.0, 0.0], [1.0, 0.0, 0.0], [2.0, 4.0, 0.0]]
    test.test("place", cut, values, expected=np.array(expected))
    test.test("place", cut & False, values[:1], expected=np.zeros((3, 3)))


@FRAMEWORKS
def test_a_rollout_goes_on_where_the_last_one_ended(backend):
    test = fused(backend)
    test.call("publish", np.int64(3))
    carry = {"seen": test.component.stepper.start()}
    after = test.call("rollout", carry, np.array([1]))
    assert after["seen"]["states"][:, 0].tolist() == [4.0, 1101.0, 2200.0, 3200.0]
    after = test.call("rollout", after, np.array([1]))
    assert after["seen"]["states"][:, 0].tolist() == [103.0, 1202.0, 2400.0, 3400.0]
    assert int(test.call("waiting")) == 2
    metrics, notes, waiting = test.call("learn", 2)
    assert int(waiting) == 0
    assert notes["versions"].tolist() == [3, 3]
    assert notes["actors"].tolist() == [1, 1]
    assert notes["lengths"].tolist() == [2, 2, 3, 2, 2, 5, 3, 2, 2, 2, 2]
    assert int(test.call("published")) == 4
    assert metrics["importance_weight"] == pytest.approx(1.0)
    assert metrics["approx_kl"] == pytest.approx(0.0, abs=1e-5)


def test_separate_recurrent_networks_roll_out_and_learn():
    lstm = {"type": "lstm", "units": 3, "network": MLP}
    env = Numbered((5, 3, 2, 2))
    root = FusedRecurrentIMPALA(
        {"type": "recurrent_actor_critic", "network": lstm, "separate": True},
        env.action_space,
        previous_inputs=False,
        seen=SEEN,
        n_steps=4,
        num_envs=4,
    )
    root.stepper.attach(env)
    spaces = {"carry": root.carry_space, "actors": IntBox(), "learn.count": 1}
    spaces |= {"states": SEEN["states"], "hidden": root.hidden_space, "resets": BoolBox()}
    test = ComponentTest(root, spaces, "torch", apis=["rollout", "learn", "act"])
    hidden, resets = root.hidden_space.zeros(4), np.ones(4, np.bool_)
    carry = {"seen": root.stepper.start(), "hidden": hidden, "resets": resets}
    after = test.call("rollout", carry, np.array([0]))
    assert after["resets"].tolist() == [False, False, True, True]
    assert after["hidden"].keys() == {"policy", "value"}
    assert np.isfinite(test.call("learn", 1)[0]["loss"])


def test_the_copy_acts_by_the_weights_at_the_start_of_a_rollout():
    test = fused("torch")
    carry = {"seen": test.component.stepper.start()}
    for _ in range(2):
        carry = test.call("rollout", carry, np.array([0]))
    test.call("learn", 2)
    name = "network/dense-0/kernel"
    assert (test.read(f"policy/{name}") != test.read(f"actor/{name}")).any()
    test.call("rollout", carry, np.array([0]))
    np.testing.assert_array_equal(test.read(f"policy/{name}"), test.read(f"actor/{name}"))


class Noting(Numbered):
    """Notes the actions."""

    def __init__(self, actions: Any) -> None:
        super().__init__((5, 3, 2, 2))
        self.action_space = actions
        self.given: list[Any] = []

    def step(self, actions: Any) -> Any:
        self.given.append(np.array(actions))
        return super().step(actions)


@FRAMEWORKS
def test_environments_get_actions_inside_of_their_bounds(backend):
    """The entropy of squashed actions is drawn: the sizes of what waits in a queue are known."""
    env = Noting(Box((1,), low=-0.5, high=0.5))
    test = fused(backend, env)
    carry = {"seen": test.component.stepper.start()}
    for _ in range(2):
        carry = test.call("rollout", carry, np.array([0]))
    given = np.concatenate(env.given)
    assert given.shape == (32, 1)
    assert np.abs(given).max() <= 0.5
    assert np.isfinite(test.call("learn", 2)[0]["loss"])


@FRAMEWORKS
def test_masked_actions_are_never_taken(backend):
    masks = np.tile([False, True, False], (4, 1))
    env = Noting(IntBox(3))
    seen = Dict(states=SEEN["states"], masks=BoolBox(shape=(3,)))
    test = fused(backend, env, seen, lambda states: {"states": states, "masks": masks})
    carry = {"seen": test.component.stepper.start()}
    for _ in range(2):
        carry = test.call("rollout", carry, np.array([0]))
    assert set(np.concatenate(env.given).tolist()) == {1}
    metrics = test.call("learn", 2)[0]
    assert metrics["entropy"] == pytest.approx(0.0, abs=1e-5)
    assert np.isfinite(metrics["loss"])
