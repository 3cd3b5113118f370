"""Networks that fit what an environment shows: categories, bits, images, Dicts and Tuples."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import ComponentError, SpaceError
from rlg.graph.components.algorithms.dqn import DQN
from rlg.graph.components.layers.vectors import Vectors
from rlg.graph.components.networks.auto import AutoNetwork, for_observations
from rlg.graph.components.networks.mlp import MLP
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple
from rlg.testing import ComponentTest

FRAMEWORKS = pytest.mark.parametrize("backend", ["torch", "tf"])
FRAMES = Box((36, 36, 1), "uint8")


def test_categories_are_one_hot_and_other_leaves_stand_beside_them(backend):
    space = Dict(
        bits=IntBox(2, shape=(2,), dtype="int8"),
        flag=BoolBox(),
        kind=IntBox(3),
        kinds=IntBox([2, 3], shape=(2,)),
        level=Box((), "int64", -5, 5),
        pixels=Box((1, 2), "uint8"),
        speed=FloatBox(shape=(1,), dtype="float64"),
    )
    value = {
        "bits": np.array([[1, 0]], np.int8),
        "flag": np.array([True]),
        "kind": np.array([2]),
        "kinds": np.array([[1, 0]]),
        "level": np.array([-3]),
        "pixels": np.array([[[255, 51]]], np.uint8),
        "speed": np.array([[0.5]]),
    }
    expected = [[1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, -3, 1.0, 0.2, 0.5]]
    ComponentTest(Vectors(), {"inputs": space}, backend).test("call", value, expected=expected)


def test_vectors_stay_as_they_are_also_with_time(backend):
    test = ComponentTest(Vectors(), {"inputs": Box((2,), ranks="TB")}, backend)
    x = np.arange(12.0, dtype=np.float32).reshape(3, 2, 2)
    np.testing.assert_array_equal(test.test("call", x), x)
    test = ComponentTest(Vectors(), {"inputs": IntBox(3, ranks="TB")}, backend)
    test.test("call", [[0, 2]], expected=[[[1, 0, 0], [0, 0, 1]]])


def test_leaves_without_a_batch_are_refused():
    with pytest.raises(SpaceError, match="Give all leaves the same ranks: ranks='B'"):
        ComponentTest(Vectors(), {"inputs": IntBox(3, ranks="")})
    with pytest.raises(SpaceError, match="Give all leaves the same ranks"):
        ComponentTest(Vectors(), {"inputs": Dict(a=IntBox(3), b=Box((2,), ranks="BT"))})


def test_an_mlp_takes_categories_one_hot(backend):
    test = ComponentTest(
        MLP([2], "linear", observation_space=IntBox(3)), {"inputs": IntBox(3)}, backend
    )
    test.write({"dense-0/kernel": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]})
    test.test("call", [2, 0], expected=[[5.0, 6.0], [1.0, 2.0]])


SEEN = {
    "vector": (Box((3,)), {"trunk"}, (4,)),
    "categories": (IntBox(16), {"trunk"}, (4,)),
    "tuple": (Tuple(IntBox(32), IntBox(11), IntBox(2)), {"trunk"}, (4,)),
    "dict": (Dict(a=Box((2, 2)), b=Dict(c=IntBox(3), d=BoolBox())), {"trunk"}, (4,)),
    "small-images": (Box((7, 7, 3), "uint8"), {"trunk"}, (4,)),
    "images": (FRAMES, {"all"}, (10,)),
    "one-image": (Dict(view=FRAMES), {"view"}, (10,)),
    "images-and-more": (
        Dict(kind=IntBox(3), pose=Tuple(Box((2,)), Box((1,))), view=FRAMES),
        {"view", "trunk"},
        (4,),
    ),
}


@pytest.mark.parametrize("name", SEEN)
def test_the_network_follows_from_the_observations(name):
    space, parts, shape = SEEN[name]
    network = AutoNetwork(space, units=[8, 4], features_dim=10)
    test = ComponentTest(network, {"inputs": space})
    assert test.test("call", space.sample(0, 5)).shape == (5, *shape)
    paths = test.executor.get_weights()
    assert {path.split("/")[1].removeprefix("parts-") for path in paths} == parts


def test_images_beside_other_leaves_have_half_of_the_features_and_join_them():
    space, _, _ = SEEN["images-and-more"]
    test = ComponentTest(AutoNetwork(space, units=[8], features_dim=10), {"inputs": space})
    assert test.read("trunk/dense-0/kernel").shape == (3 + 2 + 1 + 5, 8)


def test_an_auto_network_without_observations_says_who_gives_them():
    with pytest.raises(ComponentError, match=r"observation_space is missing.*Agents give it"):
        ComponentTest(AutoNetwork(), {"inputs": Box((3,))})


def test_vectors_cost_an_mlp_nothing():
    assert MLP([2], observation_space=Box((3,))).vectors is None
    assert MLP([2]).vectors is None


def test_agents_tell_networks_what_they_see():
    space = IntBox(4)
    for waiting in ({"type": "auto", "units": [8]}, {"type": "mlp", "units": [8]}):
        found = {**waiting, "observation_space": space}
        assert for_observations(waiting, space) == found
        assert for_observations(waiting["type"], space) == {
            "type": waiting["type"],
            "observation_space": space,
        }
        recurrent = {"type": "lstm", "units": 2, "network": waiting}
        assert for_observations(recurrent, space) == {**recurrent, "network": found}
        several = {"type": "multi_input", "networks": {"a": waiting, "b": "flatten"}}
        assert for_observations(several, Dict(a=space, b=Box((2, 2)))) == {
            **several,
            "networks": {"a": found, "b": "flatten"},
        }
        assert for_observations(found, Box((2,))) is found


def test_agents_leave_other_networks_as_they_are():
    vector = {"type": "mlp", "units": [8]}
    assert for_observations(vector, Box((2,))) is vector
    for other in ("nature_cnn", {"type": "stack"}, MLP([2]), {"type": "gru", "network": None}):
        assert for_observations(other, IntBox(4)) is other


DISCRETE = {
    "categories": IntBox(5),
    "tuple": Tuple(IntBox(4), IntBox(2)),
    "dict": Dict(goal=IntBox(3), speed=Box((2,))),
}


@FRAMEWORKS
@pytest.mark.parametrize("n_step", [1, 2])
@pytest.mark.parametrize("memory", ["replay", "prioritized_replay"])
@pytest.mark.parametrize("name", DISCRETE)
def test_targets_see_the_same_categories_through_the_memory(backend, name, memory, n_step):
    states = DISCRETE[name]
    records = Dict(
        states=states,
        actions=IntBox(2),
        rewards=FloatBox(),
        terminals=BoolBox(),
        next_states=states,
    )
    network = for_observations({"type": "mlp", "units": [3]}, states)
    policy = {"type": "q_policy", "network": network}
    root = DQN(policy, IntBox(2), {"type": memory, "buffer_size": 8}, n_step=n_step)
    number = FloatBox(ranks="")
    spaces = {"states": states, "epsilon": number, "records": records, "beta": number}
    if n_step > 1:
        spaces["records"] = Dict({**records, "discounts": FloatBox()})
        spaces["observe.records"] = Dict({**records, "truncations": BoolBox()}).with_ranks("TB")
    test = ComponentTest(root, spaces, backend)
    inputs = spaces.get("observe.records", records).sample(0, 4, 3)
    test.test("observe", inputs)
    test.test("update", 4, **({} if memory == "replay" else {"beta": np.float32(1.0)}))
    test.test("sync_target")
    kernels = {p: w for p, w in test.executor.get_weights().items() if "dense-0/kernel" in p}
    assert len(kernels) == 2
    one, other = kernels.values()
    np.testing.assert_array_equal(one, other)
