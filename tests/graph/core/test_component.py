from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import ComponentError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.core.component.component import name_trees, snake, walk
from rlg.graph.spaces import Box, Dict
from rlg.testing import ComponentTest
from tests.graph.core.parts import ROWS, VECTOR, AddOne, Dense


def paths(root: Component) -> list[str]:
    return [str(part.path) for part in name_trees([root])]


class Holder(Component):
    """Holds whatever it is given."""

    def __init__(self, **attributes: object) -> None:
        vars(self).update(attributes)


# -- names ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Dense", "dense"),
        ("DuelingHead", "dueling-head"),
        ("DQNLoss", "dqn-loss"),
        ("LSTM", "lstm"),
        ("Conv2D", "conv2d"),
        ("A", "a"),
    ],
)
def test_snake_turns_class_names_into_scopes(name, expected):
    assert snake(name) == expected


def test_the_root_is_named_by_its_class_or_its_scope():
    assert paths(Dense()) == ["dense"]
    assert paths(Dense().configure(scope="policy")) == ["policy"]


def test_attributes_name_their_components():
    assert paths(Holder(policy=Dense(), _hidden=Dense())) == [
        "holder",
        "holder/policy",
        "holder/hidden",
    ]


def test_lists_and_tuples_number_their_components_by_class():
    root = Holder(layers=[Dense(), AddOne()], heads=(Holder(),))
    assert paths(root) == ["holder", "holder/dense-0", "holder/add-one-1", "holder/holder-0"]


def test_dicts_name_their_components_by_attribute_and_key():
    assert paths(Holder(heads={"q": Dense(), 3: Dense()})) == [
        "holder",
        "holder/heads-q",
        "holder/heads-3",
    ]


def test_what_is_no_component_is_passed_over():
    assert paths(Holder(layers=[1, Dense(), None], table={"a": 2}, n=3)) == [
        "holder",
        "holder/dense-1",
    ]


def test_a_scope_beats_the_attribute_the_list_and_the_dict():
    root = Holder(
        a=Dense().configure(scope="x"),
        b=[Dense().configure(scope="y")],
        c={"k": Dense().configure(scope="z")},
    )
    assert paths(root) == ["holder", "holder/x", "holder/y", "holder/z"]


def test_a_shared_component_belongs_to_its_shallowest_holder():
    shared = Dense()
    root = Holder(first=Holder(inner=shared), second=shared)
    assert paths(root) == ["holder", "holder/first", "holder/second"]
    assert shared.path == "holder/second"


def test_a_shared_component_is_walked_once():
    shared = Dense()
    assert len(list(walk(Holder(a=shared, b=[shared], c=Holder(d=shared))))) == 3


def test_two_components_of_one_path_are_refused():
    root = Holder(actors=[Dense()], critics=[Dense()])
    with pytest.raises(ComponentError) as error:
        name_trees([root])
    assert str(error.value) == (
        "holder/dense-0: two components have this path, Dense and Dense. Give one another name: "
        ".configure(scope='...')."
    )


# -- configure ------------------------------------------------------------------------------------
def test_configure_sets_what_it_is_given_and_returns_the_component():
    dense = Dense()
    assert dense.configure(scope="a", device="cpu") is dense
    dense.configure(variable_device="cpu", shared_scope="s")
    found = (dense.scope, dense.device, dense.variable_device, dense.shared_scope)
    assert found == ("a", "cpu", "cpu", "s")


@pytest.mark.parametrize("scope", ["a/b", "a b", ""])
def test_configure_refuses_scopes_that_break_paths(scope):
    with pytest.raises(ComponentError) as error:
        Dense().configure(scope=scope)
    assert str(error.value) == (
        f"Dense: scope is {scope!r}; use letters, digits, '-', '_' and '.'."
    )


# -- copy -----------------------------------------------------------------------------------------
class Agent(Component):
    def __init__(self, policy: Component) -> None:
        self.policy = policy
        self.target = policy.copy()

    @api
    def act(self, inputs):
        return self.policy.call(inputs), self.target.call(inputs)


def test_a_copy_starts_from_equal_values_with_variables_of_its_own():
    test = ComponentTest(Agent(Dense()), {"inputs": VECTOR})
    kernel = test.read("policy/kernel")
    assert np.ptp(kernel) > 0
    np.testing.assert_array_equal(kernel, test.read("target/kernel"))
    test.write({"policy/kernel": kernel + 1.0})
    np.testing.assert_array_equal(kernel, test.read("target/kernel"))


def test_a_copy_copies_the_whole_tree():
    class Net(Component):
        def __init__(self) -> None:
            self.layers = [Dense(), Dense()]

        @api
        def call(self, inputs):
            return self.layers[1].call(self.layers[0].call(inputs))

    test = ComponentTest(Agent(Net()), {"inputs": VECTOR})
    for name in ("dense-0/kernel", "dense-1/kernel"):
        np.testing.assert_array_equal(test.read(f"policy/{name}"), test.read(f"target/{name}"))
    assert not np.array_equal(
        test.read("policy/dense-0/kernel"), test.read("policy/dense-1/kernel")
    )


def test_a_copy_runs_dry_with_its_original_unless_it_was_changed():
    runs = []

    class Repeat(Component):
        def __init__(self) -> None:
            self.times = 1

        @api
        @graph_fn
        def call(self, inputs: Tensor) -> Tensor:
            runs.append(self.times)
            return self.ops.concat([inputs] * self.times, 1)

    same = Agent(Repeat())
    ComponentTest(same, {"inputs": VECTOR})
    assert runs == [1, 1]  # at two batch sizes, for both of them
    changed = Agent(Repeat())
    changed.target.times = 2
    test = ComponentTest(changed, {"inputs": VECTOR})
    assert set(runs[2:]) == {1, 2}
    policy, target = test.executor.output_space("act")
    assert target.shape == (2 * policy.shape[0],)


def test_a_copy_of_a_copy_starts_from_the_same_values():
    class Twins(Component):
        def __init__(self) -> None:
            self.one = Dense()
            self.two = self.one.copy()
            self.three = self.two.copy()

        @api
        def call(self, inputs):
            return self.one.call(inputs), self.two.call(inputs), self.three.call(inputs)

    test = ComponentTest(Twins(), {"inputs": VECTOR})
    np.testing.assert_array_equal(test.read("one/kernel"), test.read("three/kernel"))


def test_a_copy_has_the_scope_it_is_given():
    dense = Dense().configure(scope="online")
    assert dense.copy("target").scope == "target"
    assert dense.copy().scope is None


def test_a_copy_does_not_share_the_variables_of_a_shared_scope():
    test = ComponentTest(Agent(Dense().configure(shared_scope="s")), {"inputs": VECTOR})
    assert len(test.executor.get_weights()) == 4


# -- register_api ---------------------------------------------------------------------------------
def test_a_registered_api_belongs_to_the_instance_alone():
    one, other = Dense(), Dense()
    one.register_api("twice", lambda self, inputs: self.call(self.call(inputs)))
    assert list(one.api_methods()) == ["call", "twice"]
    assert list(other.api_methods()) == ["call"]


def test_a_registered_api_is_built_and_executed():
    component = AddOne()
    component.register_api("twice", lambda self, x: self.call(self.call(x)))
    test = ComponentTest(component, {"x": VECTOR})
    test.test("twice", ROWS, expected=ROWS + 2.0)


def test_a_registered_api_may_be_split():
    component = AddOne()
    component.register_api("each", lambda self, y: self.call(y), split=True)
    test = ComponentTest(component, {"x": VECTOR, "y": Dict(a=VECTOR)})
    test.test("each", {"a": ROWS}, expected={"a": ROWS + 1.0})


@pytest.mark.parametrize("name", ["call", "copy"])
def test_register_api_refuses_names_that_are_taken(name):
    with pytest.raises(ComponentError) as error:
        Dense().register_api(name, lambda self: None)
    assert str(error.value) == f"dense: it has `{name}` already; choose another name."


# -- life ----------------------------------------------------------------------------------------
def test_forgetting_super_init_is_harmless():
    class Middle(AddOne):
        def __init__(self) -> None:
            self.n = 1

    class Lower(Middle):
        def __init__(self) -> None:
            self.m = 2

    ComponentTest(Lower(), {"x": VECTOR}).test("call", ROWS, expected=ROWS + 1.0)


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("configure", lambda c: c.configure(scope="late")),
        ("copy", lambda c: c.copy()),
        ("register_api", lambda c: c.register_api("late", lambda self: None)),
    ],
)
def test_a_built_component_refuses_changes(what, change):
    component = AddOne()
    ComponentTest(component, {"x": VECTOR})
    with pytest.raises(ComponentError) as error:
        change(component)
    assert str(error.value) == (
        f"add-one: `{what}` comes before the build, and this component is built. Make a new "
        "component."
    )


def test_a_built_component_refuses_a_second_build():
    component = AddOne()
    ComponentTest(component, {"x": VECTOR})
    with pytest.raises(ComponentError) as error:
        ComponentTest(component, {"x": VECTOR})
    assert str(error.value) == (
        "add-one: it is part of a graph that is already built. Make a new component for each build."
    )


def test_a_component_can_be_built_after_a_build_that_failed():
    class Matrix(Component):
        @api
        @graph_fn
        def call(self, x: Tensor) -> Tensor:
            return self.ops.matmul(x, self.ops.zeros((2, 1)))

    component = Matrix()
    with pytest.raises(RuntimeError):
        ComponentTest(component, {"x": Box((3,))})
    assert ComponentTest(component, {"x": VECTOR}).test("call", ROWS).shape == (3, 1)


def test_marked_methods_are_plain_python_outside_of_a_build():
    assert AddOne().call(2.0) == 3.0


def test_an_instance_attribute_survives_tracing():
    component = AddOne()
    ComponentTest(component, {"x": VECTOR})
    assert vars(component).keys().isdisjoint({"call"})
    assert component.call(1.0) == 2.0
