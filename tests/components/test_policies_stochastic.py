"""Action heads, stochastic policies and actor-critics: every kind of action space, and masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.heads.action import ActionHead
from rlg.graph.components.heads.value import ValueHead
from rlg.graph.components.layers.flatten import Flatten
from rlg.graph.components.networks import mlp
from rlg.graph.components.optimizers.sgd import SGD
from rlg.graph.components.policies.actor_critic import ActorCritic, SharedValuePolicy
from rlg.graph.components.policies.policy import Policy
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple, flatten
from rlg.testing import ComponentTest

STATES = Box((2,))
MLP = {"type": "mlp", "units": [4], "activation": "tanh"}
SPACES: dict[str, Any] = {
    "discrete": IntBox(3),
    "int32": IntBox(3, dtype="int32"),
    "multi_discrete": IntBox([2, 4], shape=(2,)),
    "matrix": IntBox(3, shape=(2, 2)),
    "multi_binary": Box((3,), "int8", 0, 1),
    "bool": BoolBox((3,)),
    "bounded": FloatBox([-1.0, 0.0], [1.0, 5.0], (2,)),
    "scalar": FloatBox(-1.0, 1.0),
    "half_bounded": FloatBox(0.0, None, (2,)),
    "unbounded": FloatBox(shape=(2,)),
    "dict": Dict(move=IntBox(3), aim=FloatBox(-1.0, 1.0, (2,)), deep=Dict(fire=BoolBox())),
    "tuple": Tuple(IntBox(2), FloatBox(shape=(2,))),
}


def policy(space, backend, apis, head="action_head", masks=None, cls=Policy, **options):
    spaces = {"states": STATES, "actions": space, **({} if masks is None else {"masks": masks})}
    return ComponentTest(cls(MLP, space, head, **options), spaces, backend, apis=apis)


@pytest.mark.parametrize("name", SPACES)
def test_actions_lie_in_the_action_space(name, backend):
    space = SPACES[name]
    test = policy(space, backend, ["get_actions", "get_actions_log_probs", "log_probs"])
    states = STATES.sample(0, 50)
    for explore in (True, False):
        assert space.why_not(test.call("get_actions", states, explore=explore)) is None
    actions, log_probs = test.call("get_actions_log_probs", states)
    assert log_probs.shape == (50,)
    test.test("log_probs", states, actions, expected=log_probs, tolerance=2e-3)


@pytest.mark.parametrize("bounded", ["squashed_normal", "beta", "normal"])
def test_bounded_actions_have_a_choice_of_distributions(bounded, backend):
    space = SPACES["bounded"]
    head = {"type": "action_head", "bounded": bounded, "log_std_init": 2.0}
    test = policy(space, backend, ["get_actions", "get_actions_log_probs", "clip"], head)
    states = STATES.sample(0, 100)
    assert space.why_not(test.call("get_actions", states)) is None
    raw, log_probs = test.call("get_actions_log_probs", states)
    assert np.isfinite(log_probs).all()
    assert (space.why_not(raw) is None) == (bounded != "normal")
    np.testing.assert_array_equal(test.call("clip", raw), np.clip(raw, [-1.0, 0.0], [1.0, 5.0]))


@pytest.mark.parametrize("bounded", ["squashed_normal", "beta", "normal"])
def test_actions_may_be_kept_as_float64(bounded, backend):
    space = FloatBox(-1.0, 1.0, (2,), "float64")
    head = {"type": "action_head", "bounded": bounded}
    test = policy(space, backend, ["get_actions_log_probs", "log_probs", "clip"], head)
    states = STATES.sample(0, 5)
    actions, log_probs = test.call("get_actions_log_probs", states)
    assert actions.dtype == "float32"
    kept = actions.astype("float64")
    test.test("log_probs", states, kept, expected=log_probs, tolerance=2e-3)
    np.testing.assert_array_equal(test.call("clip", kept), np.clip(kept, -1.0, 1.0))


def test_modes_are_deterministic_and_draws_are_not(backend):
    test = policy(SPACES["unbounded"], backend, ["get_actions"])
    states = STATES.sample(0, 5)
    one, two = (test.call("get_actions", states, explore=False) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert (test.call("get_actions", states) != test.call("get_actions", states)).all()


def test_a_head_has_a_log_std_of_its_own_or_of_the_state(backend):
    space = SPACES["unbounded"]
    head = ComponentTest(ActionHead(space, log_std_init=-0.5), {"inputs": STATES}, backend,
                         apis=["parameters"])  # fmt: skip
    got = head.call("parameters", [[1.0, 2.0]])
    np.testing.assert_allclose(got["log_std"], [[-0.5, -0.5]])
    assert head.read("outputs-all/log_std").shape == (2,)
    head = ComponentTest(
        ActionHead(space, state_dependent_std=True, log_std_init=1.0),
        {"inputs": STATES},
        backend,
        apis=["parameters"],
    )
    head.write({"outputs-all/log_std/kernel": [[1.0, 0.0], [0.0, -30.0]]})
    got = head.call("parameters", [[0.5, 1.0], [3.0, 0.0]])
    np.testing.assert_allclose(got["log_std"], [[1.5, -20.0], [2.0, 1.0]])


# -- masks ----------------------------------------------------------------------------------------
def test_masked_actions_are_never_chosen_and_entropy_is_of_the_rest(backend):
    masks = BoolBox((3,))
    apis = ["get_actions", "entropy", "parameters", "log_probs", "get_actions_log_probs"]
    test = policy(IntBox(3), backend, apis, masks=masks)
    states = STATES.sample(0, 300)
    allowed = np.tile([[True, False, True], [False, True, False], [True, True, True]], (100, 1))
    for explore in (True, False):
        actions = test.call("get_actions", states, explore, allowed)
        assert allowed[np.arange(300), actions].all()
    logits = test.call("parameters", states).astype("float64")
    p = scipy.special.softmax(np.where(allowed, logits, -np.inf), -1)
    test.test("entropy", states, allowed, expected=scipy.special.entr(p).sum(-1))
    actions, log_probs = test.call("get_actions_log_probs", states, allowed)
    np.testing.assert_allclose(log_probs, np.log(p[np.arange(300), actions]), atol=1e-5)
    np.testing.assert_array_equal(test.call("entropy", states, allowed)[1::3], 0.0)


def test_choices_that_do_not_exist_are_never_made(backend):
    test = policy(IntBox([2, 4], shape=(2,)), backend, ["get_actions", "entropy", "parameters"])
    states = np.zeros((400, 2), "float32")  # Equal logits.
    actions = test.call("get_actions", states)
    assert set(actions[:, 0]) == {0, 1}
    assert set(actions[:, 1]) == {0, 1, 2, 3}
    test.test("entropy", states[:1], expected=[np.log(2) + np.log(4)])


def test_masks_of_nested_spaces_name_their_leaves(backend):
    space = Tuple(FloatBox(shape=(2,)), IntBox(3))
    test = policy(space, backend, ["get_actions"], masks=Dict({"1": BoolBox((3,))}))
    allowed = np.tile([[False, False, True]], (20, 1))
    _, choices = test.call("get_actions", STATES.sample(0, 20), masks={"1": allowed})
    assert (choices == 2).all()


@pytest.mark.parametrize(
    ("space", "masks", "message"),
    [
        (IntBox(3), BoolBox((4,)), r"give BoolBox\(\(3,\)\)"),
        (IntBox(3), Box((3,)), "True where a choice is allowed"),
        (BoolBox((3,)), BoolBox((3,)), "which is not a choice. Leaves that can be masked: none"),
        (Dict(a=IntBox(2), b=FloatBox()), Dict(b=BoolBox()), "can be masked: a"),
    ],
)
def test_masks_that_do_not_fit_are_refused(space, masks, message):
    with pytest.raises(SpaceError, match=message):
        policy(space, "numpy", ["get_actions"], masks=masks)


class Learner(Component):
    """Gradients of everything that a loss takes from a policy."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self.optimizer = SGD()

    @api
    def gradients(self, states: Any, actions: Any, masks: Any) -> Any:
        log_probs, entropy, values = self.policy.evaluate(states, actions, masks)
        loss = self.total(log_probs, entropy, values)
        return self.optimizer.gradients(loss, self.policy.variables())

    @api
    def apply(self, states: Any, gradients: Any) -> Any:
        self.policy.act(states)
        return self.optimizer.apply(self.policy.variables(), gradients)

    @graph_fn
    def total(self, log_probs: Tensor, entropy: Tensor, values: Tensor) -> Tensor:
        return self.ops.mean(log_probs + entropy + values)


@pytest.mark.parametrize("separate", [False, True])
def test_gradients_of_masked_policies_are_finite_and_equal(separate):
    space = Dict(a=IntBox([2, 3], shape=(2,)), b=FloatBox(-1.0, 1.0, (2,)), c=BoolBox())
    masks = {"a": np.array([[[True, False, True], [False, False, True]]] * 4)}
    found = []
    for backend in ("torch", "tf"):
        learner = Learner(ActorCritic(MLP, space, separate=separate))
        spaces = {"states": STATES, "actions": space, "masks": Dict(a=BoolBox((2, 3)))}
        test = ComponentTest(learner, spaces, backend, apis=["gradients"])
        states, actions = STATES.sample(0, 4), space.sample(0, 4)
        actions["a"][:] = [0, 2]
        actions["b"] *= 0.9
        found.append(flatten(test.call("gradients", states, actions, masks)))
    assert found[0].keys() == found[1].keys()
    for path, gradient in found[0].items():
        assert np.isfinite(gradient).all(), path
        np.testing.assert_allclose(gradient, found[1][path], rtol=1e-4, atol=1e-5)
    assert any(np.abs(g).max() > 0 for path, g in found[0].items() if "value" in path[0])


# -- policies by hand -----------------------------------------------------------------------------
def linear(space, backend, cls=Policy, apis=None, head="action_head", **options):
    """A policy whose network passes its states on."""
    spaces = {"states": STATES, "actions": space, "parameters": Box((2,))}
    network = {"type": "flatten"}
    return ComponentTest(cls(network, space, head, **options), spaces, backend, apis=apis)


def test_a_policy_by_hand(backend):
    apis = ["log_probs", "entropy", "kl", "parameters", "get_actions"]
    test = linear(IntBox(2), backend, apis=apis)
    test.write({"head/outputs-all/output/kernel": np.eye(2)})
    states = np.array([[0.0, np.log(3)], [0.0, 0.0]], "float32")  # p = (1/4, 3/4), (1/2, 1/2)
    test.test("log_probs", states, [1, 0], expected=np.log([0.75, 0.5]))
    entropy = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    test.test("entropy", states, expected=[entropy, np.log(2)])
    # From (1/2, 1/2) to each.
    kl = 0.5 * np.log(0.5 / 0.25) + 0.5 * np.log(0.5 / 0.75)
    test.test("kl", states, np.zeros((2, 2), "float32"), expected=[kl, 0.0])
    np.testing.assert_array_equal(test.call("get_actions", states, explore=False), [1, 0])


def test_an_actor_critic_by_hand(backend):
    test = linear(IntBox(2), backend, ActorCritic, ["act", "evaluate", "values"])
    test.write(
        {
            "head/outputs-all/output/kernel": np.eye(2),
            "value_head/output/dense-0/kernel": [[1.0], [10.0]],
            "value_head/output/dense-0/bias": [0.5],
        }
    )
    states = np.array([[0.0, np.log(3)], [0.0, 0.0]], "float32")
    values = [0.5 + 10 * np.log(3), 0.5]
    test.test("values", states, expected=values)
    entropy = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    test.test(
        "evaluate", states, [1, 0], expected=(np.log([0.75, 0.5]), [entropy, np.log(2)], values)
    )
    test.test("act", states, explore=False, expected=([1, 0], np.log([0.75, 0.5]), values))
    actions, log_probs, got = test.call("act", states)
    p = np.array([[0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_allclose(log_probs, np.log(p[[0, 1], actions]), atol=1e-6)
    np.testing.assert_allclose(got, values, rtol=1e-6)


def paths(component):
    test = ComponentTest(component, {"states": STATES}, apis=["act"])
    return set(test.executor.get_weights())


def test_value_functions_share_the_network_or_have_their_own():
    shared = paths(SharedValuePolicy(MLP, IntBox(2)))
    assert shared == paths(ActorCritic(MLP, IntBox(2)).configure(scope="shared-value-policy"))
    assert not any("value_network" in path for path in shared)
    separate = paths(ActorCritic(MLP, IntBox(2), separate=True))
    assert "actor-critic/value_network/dense-0/kernel" in separate
    assert len(separate) == len(shared) + 2
    other = paths(ActorCritic(MLP, IntBox(2), value_network=mlp.MLP([5, 5])))
    assert "actor-critic/value_network/dense-1/kernel" in other
    copied = ActorCritic(mlp.MLP([3]), IntBox(2), separate=True)
    assert "actor-critic/value_network/dense-0/kernel" in paths(copied)
    assert copied.separate


def test_separate_networks_start_from_different_weights(backend):
    test = policy(IntBox(2), backend, ["act"], cls=ActorCritic, separate=True)
    one, two = test.read("network/dense-0/kernel"), test.read("value_network/dense-0/kernel")
    assert (one != two).any()


def test_policies_take_time(backend):
    states = Box((2,), ranks="TB")
    space = Tuple(IntBox(2, ranks="TB"), FloatBox(-1.0, 1.0, ranks="TB"))
    spaces = {"states": states, "actions": space}
    apis = ["act", "evaluate", "clip"]
    test = ComponentTest(ActorCritic(MLP, space), spaces, backend, apis=apis)
    x = states.sample(0, 3, 4)
    actions, log_probs, values = test.call("act", x)
    assert space.why_not(test.call("clip", actions)) is None
    assert log_probs.shape == values.shape == (4, 3)
    again, entropy, same = test.call("evaluate", x, actions)
    np.testing.assert_allclose(again, log_probs, atol=1e-5)
    np.testing.assert_allclose(same, values, atol=1e-6)
    assert entropy.shape == (4, 3)


def test_a_value_head_gives_one_number_for_each_state(backend):
    test = ComponentTest(ValueHead(), {"inputs": STATES}, backend)
    test.write({"output/dense-0/kernel": [[2.0], [3.0]], "output/dense-0/bias": [1.0]})
    test.test("call", [[1.0, 1.0], [0.0, -1.0]], expected=[6.0, -2.0])


@pytest.mark.parametrize("space", [IntBox(), IntBox(1, 4), Dict(a=IntBox(1, 3))])
def test_choices_that_do_not_count_from_0_are_refused(space):
    with pytest.raises(SpaceError, match="choices count from 0 and have an end"):
        ActionHead(space)


def test_a_distribution_that_does_not_exist_is_refused():
    with pytest.raises(ComponentError, match="use one of squashed_normal, beta, normal"):
        ActionHead(SPACES["bounded"], bounded="uniform")


def test_leaves_of_equal_names_are_refused():
    space = Dict({"a.b": IntBox(2), "a": Dict(b=IntBox(3))})
    with pytest.raises(ComponentError, match=r"same name: .*Rename one"):
        Policy(Flatten(), space)


def test_a_key_may_be_called_type(backend):
    space = Dict({"type": IntBox(2), "size": FloatBox()})
    test = policy(space, backend, ["get_actions"])
    assert space.why_not(test.call("get_actions", STATES.sample(0, 5))) is None
