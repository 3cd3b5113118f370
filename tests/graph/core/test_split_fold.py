from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Box, Dict, Space, Tuple, flatten, map_leaves
from rlg.testing import ComponentTest
from tests.bank import CASES, covers
from tests.graph.core.parts import SCALAR, VECTOR, AddOne, Dense
from tests.graph.spaces.strategies import spaces

both_ways = pytest.mark.parametrize("define_by_run", [False, True])


class Add(Component):
    @api
    @graph_fn(split=True)
    def call(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x + 1.0, x + y


class Double(Component):
    @api
    @graph_fn(split=True)
    def call(self, x: Tensor) -> Tensor:
        return self.ops.concat([x, x], -1) if len(self.ops.shape_of(x)) > 1 else x


# -- the bank -------------------------------------------------------------------------------------
@covers("graphfn.flatten_split_two_containers")
@both_ways
def test_split_two_containers(define_by_run):
    case = CASES["graphfn.flatten_split_two_containers"]
    one = Dict(a=Box(ranks=""), b=Box((1, 2), ranks=""))
    two = Dict(a=Box(ranks=""), b=Box(ranks=""))
    test = ComponentTest(Add(), {"x": one, "y": two}, define_by_run=define_by_run)
    expected = (case["expected"]["out1"], case["expected"]["out2"])
    expected = tuple({k: np.asarray(v) for k, v in tree.items()} for tree in expected)
    test.test("call", *case["inputs"].values(), expected=expected, tolerance=case["tol"])


@both_ways
def test_splitter_gives_values_in_the_order_of_its_keys(define_by_run):
    class Splitter(Component):
        def __init__(self, keys: list[str]) -> None:
            self.keys = keys

        @api
        @graph_fn(outputs=lambda self: len(self.keys))
        def call(self, x: Tensor) -> tuple[Tensor, ...]:
            return tuple(x[key] for key in self.keys)

    case = CASES["splitter.dict_order"]
    space = Dict({key: Box((), "int64", ranks="") for key in case["inputs"]["x"]})
    test = ComponentTest(
        Splitter(case["inputs"]["order"]), {"x": space}, define_by_run=define_by_run
    )
    out = test.call("call", case["inputs"]["x"])
    assert [int(value) for value in out] == case["expected"]["out"]


# -- split ----------------------------------------------------------------------------------------
@both_ways
def test_a_single_tensor_goes_to_every_leaf(define_by_run):
    space = Dict(a=SCALAR, b=Tuple(SCALAR, VECTOR))
    test = ComponentTest(Add(), {"x": space, "y": Box(ranks="")}, define_by_run=define_by_run)
    x = {"a": [1.0], "b": ([2.0], [[3.0, 4.0]])}
    plus, total = test.call("call", x, 10.0)
    assert plus["a"] == [2.0]
    assert total["a"] == [11.0]
    assert total["b"][0] == [12.0]
    assert total["b"][1].tolist() == [[13.0, 14.0]]
    assert isinstance(total["b"], tuple)


@both_ways
def test_a_constant_goes_to_every_leaf(define_by_run):
    class Root(Component):
        def __init__(self) -> None:
            self.add = Add()

        @api
        def call(self, x):
            return self.add.call(x, 2.0)[1]

    test = ComponentTest(Root(), {"x": Dict(a=SCALAR, b=SCALAR)}, define_by_run=define_by_run)
    test.test("call", {"a": [1.0], "b": [2.0]}, expected={"a": [3.0], "b": [4.0]})


@both_ways
def test_a_container_of_constants_is_split_like_any_other(define_by_run):
    class Root(Component):
        def __init__(self) -> None:
            self.add = Add()

        @api
        def call(self, x):
            return self.add.call(x, {"a": 2.0, "b": 3.0})[1]

    test = ComponentTest(Root(), {"x": Dict(a=SCALAR, b=SCALAR)}, define_by_run=define_by_run)
    test.test("call", {"a": [1.0], "b": [2.0]}, expected={"a": [3.0], "b": [5.0]})


@both_ways
def test_without_containers_a_split_function_is_called_once(define_by_run):
    test = ComponentTest(Add(), {"x": SCALAR, "y": SCALAR}, define_by_run=define_by_run)
    test.test("call", [1.0], [2.0], expected=([2.0], [3.0]))
    assert test.executor.plan("call").calls == 1


def test_each_leaf_is_one_call():
    test = ComponentTest(Add(), {"x": Dict(a=SCALAR, b=Tuple(SCALAR, SCALAR)), "y": SCALAR})
    assert test.executor.plan("call").calls == 3


@both_ways
def test_leaves_may_become_containers(define_by_run):
    class Pair(Component):
        @api
        @graph_fn(split=True)
        def call(self, x: Tensor) -> Tensor:
            return {"low": x - 1.0, "high": x + 1.0}

    test = ComponentTest(Pair(), {"x": Dict(a=SCALAR)}, define_by_run=define_by_run)
    test.test("call", {"a": [1.0]}, expected={"a": {"low": [0.0], "high": [2.0]}})


@both_ways
def test_a_split_function_without_outputs_writes_for_each_leaf(define_by_run):
    class Sum(Component):
        def create_variables(self) -> None:
            self.total = self.variable("total")

        @api
        @graph_fn(split=True)
        def add(self, x: Tensor) -> None:
            self.ops.assign(self.total, self.total + self.ops.sum(x))

    test = ComponentTest(Sum(), {"x": Dict(a=SCALAR, b=VECTOR)}, define_by_run=define_by_run)
    assert test.call("add", {"a": [1.0], "b": [[2.0, 3.0]]}) is None
    assert test.read("total") == 6.0


@both_ways
def test_draws_of_a_split_function_come_leaf_by_leaf(define_by_run):
    class Draws(Component):
        @api
        @graph_fn(split=True)
        def call(self, x: Tensor) -> Tensor:
            return self.ops.random_uniform(self.ops.shape_of(x))

    test = ComponentTest(Draws(), {"x": Dict(a=SCALAR, b=SCALAR)}, define_by_run=define_by_run)
    out = test.call("call", {"a": [0.0], "b": [0.0]})
    again = test.call("call", {"a": [0.0], "b": [0.0]})
    values = [float(tree[key][0]) for tree in (out, again) for key in "ab"]
    np.testing.assert_allclose(values, DRAWN, atol=1e-7)


# Philox keyed by blake2b("0:draws"): the first four float32 uniforms.
DRAWN = [0.03939241, 0.16087133, 0.47822434, 0.83471829]


class Each(Component):
    """A split API method: composition, once per leaf."""

    def __init__(self) -> None:
        self.add = AddOne()

    @api(split=True)
    def call(self, x, y):
        z = self.add.call(x)
        return self.add.call(z), {"y": y, "z": z}


@both_ways
def test_split_api_methods_run_once_per_leaf(define_by_run):
    spaces = {"x": Dict(a=SCALAR, b=Tuple(VECTOR)), "y": Box(ranks="")}
    test = ComponentTest(Each(), spaces, define_by_run=define_by_run)
    out, rest = test.call("call", {"a": [1.0], "b": ([[2.0, 3.0]],)}, 9.0)
    assert out["a"].tolist() == [3.0]
    assert out["b"][0].tolist() == [[4.0, 5.0]]
    assert rest["z"]["a"].tolist() == [2.0]
    assert rest["y"]["b"][0] == 9.0


@both_ways
def test_a_split_api_method_may_have_variables(define_by_run):
    class Scaled(Component):
        def create_variables(self, *, x: Space) -> None:
            self.scale = self.variable("scale", value=2.0)

        @graph_fn
        def times(self, x: Tensor) -> Tensor:
            return x * self.scale

        @api(split=True)
        def call(self, x):
            return self.times(x)

    test = ComponentTest(Scaled(), {"x": Dict(a=SCALAR, b=VECTOR)}, define_by_run=define_by_run)
    test.test("call", {"a": [1.0], "b": [[2.0, 3.0]]}, expected={"a": [2.0], "b": [[4.0, 6.0]]})


FLOATS = ("float32", "float64")


@settings(max_examples=40)
@given(spaces(dtypes=FLOATS), st.booleans())
def test_split_equals_numpy_leaf_by_leaf(space, define_by_run):
    test = ComponentTest(Double(), {"x": space}, define_by_run=define_by_run)
    value = space.sample(0, batch=2, time=3)
    ranks = {path: len(box.ranks + "x" * len(box.shape)) for path, box in space.flatten().items()}
    out, wanted = flatten(test.call("call", value)), flatten(value)
    assert out.keys() == wanted.keys()
    for path, leaf in wanted.items():
        expected = np.concatenate([leaf, leaf], -1) if ranks[path] > 1 else leaf
        np.testing.assert_array_equal(out[path], expected)


@settings(max_examples=25)
@given(spaces(ranks="B", dtypes=("float32",)))
def test_split_over_two_equal_containers_equals_numpy(space):
    test = ComponentTest(Add(), {"x": space, "y": space})
    x, y = space.sample(0, batch=3), space.sample(1, batch=3)
    plus, total = test.call("call", x, y)
    with np.errstate(over="ignore"):
        for got, wanted in (
            (plus, map_leaves(lambda a: a + 1, x)),
            (total, map_leaves(np.add, x, y)),
        ):
            for path, leaf in flatten(wanted).items():
                np.testing.assert_array_equal(flatten(got)[path], leaf)


# -- fold -----------------------------------------------------------------------------------------
class Rows(Component):
    """Must see [F, 2] however its inputs come."""

    @api
    @graph_fn(fold_time=True)
    def call(self, x: Tensor) -> Tensor:
        assert len(self.ops.shape_of(x)) == 2
        return self.ops.sum(x, -1)


@both_ways
@pytest.mark.parametrize("ranks", ["BT", "TB"])
def test_folded_functions_see_one_leading_axis(ranks, define_by_run):
    test = ComponentTest(Rows(), {"x": Box((2,), ranks=ranks)}, define_by_run=define_by_run)
    x = np.arange(24, dtype="float32").reshape(3, 4, 2)
    test.test("call", x, expected=x.sum(-1))


@both_ways
@pytest.mark.parametrize("ranks", ["B", "T", "F"])
def test_inputs_without_two_ranks_are_not_folded(ranks, define_by_run):
    test = ComponentTest(Rows(), {"x": Box((2,), ranks=ranks)}, define_by_run=define_by_run)
    x = np.arange(6, dtype="float32").reshape(3, 2)
    test.test("call", x, expected=x.sum(-1))


@both_ways
@pytest.mark.parametrize("ranks", ["BT", "TB"])
def test_folding_equals_reshaped_numpy(ranks, define_by_run):
    test = ComponentTest(Dense(3), {"inputs": Box((2,), ranks=ranks)}, define_by_run=define_by_run)
    x = Box((2,), ranks=ranks).sample(0, batch=4, time=5)
    flat = x.reshape(20, 2) @ test.read("kernel") + test.read("bias")
    test.test("call", x, expected=flat.reshape(*x.shape[:2], 3))


@both_ways
def test_outputs_without_the_folded_axis_stay_as_they_are(define_by_run):
    class Mixed(Component):
        @api
        @graph_fn(fold_time=True)
        def call(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            mean = self.ops.mean(x)
            return x + 1.0, mean, {"x": x, "mean": mean}

    test = ComponentTest(Mixed(), {"x": Box(ranks="BT")}, define_by_run=define_by_run)
    x = np.arange(6, dtype="float32").reshape(2, 3)
    test.test("call", x, expected=(x + 1.0, 2.5, {"x": x, "mean": 2.5}))


@both_ways
def test_leaves_without_time_are_not_folded(define_by_run):
    class Mixed(Component):
        @api
        @graph_fn(fold_time=True)
        def call(self, x: Tensor) -> Tensor:
            return {"rows": x["rows"] * 2.0, "goal": x["goal"] * 3.0}

    space = Dict(rows=Box((2,), ranks="BT"), goal=Box((4,)))
    test = ComponentTest(Mixed(), {"x": space}, define_by_run=define_by_run)
    x = {"rows": np.ones((3, 5, 2), "float32"), "goal": np.ones((3, 4), "float32")}
    test.test("call", x, expected={"rows": x["rows"] * 2.0, "goal": x["goal"] * 3.0})


@both_ways
def test_folded_api_methods_fold_around_everything(define_by_run):
    class Net(Component):
        def __init__(self) -> None:
            self.rows = Rows()
            self.add = AddOne()

        @api(fold_time=True)
        def call(self, x):
            return self.add.call(self.rows.call(x)), x

    test = ComponentTest(Net(), {"x": Box((2,), ranks="TB")}, define_by_run=define_by_run)
    x = np.arange(24, dtype="float32").reshape(3, 4, 2)
    test.test("call", x, expected=(x.sum(-1) + 1.0, x))


@both_ways
def test_folded_api_methods_take_containers(define_by_run):
    class Net(Component):
        def __init__(self) -> None:
            self.rows = Rows()

        @api(fold_time=True)
        def call(self, x):
            return self.rows.call(x["a"])

    test = ComponentTest(Net(), {"x": Dict(a=Box((2,), ranks="TB"))}, define_by_run=define_by_run)
    x = np.arange(24, dtype="float32").reshape(3, 4, 2)
    test.test("call", {"a": x}, expected=x.sum(-1))


@both_ways
def test_split_and_fold_go_together(define_by_run):
    class Both(Component):
        @api
        @graph_fn(split=True, fold_time=True)
        def call(self, x: Tensor) -> Tensor:
            assert len(self.ops.shape_of(x)) == 2
            return self.ops.sum(x, -1)

    space = Dict(a=Box((2,), ranks="BT"), b=Box((3,), ranks="BT"), c=Box((4,)))
    test = ComponentTest(Both(), {"x": space}, define_by_run=define_by_run)
    x: Any = space.sample(0, batch=2, time=3)
    test.test("call", x, expected={key: value.sum(-1) for key, value in x.items()})


@settings(max_examples=25)
@given(spaces(ranks="TB", dtypes=("float32",)), st.booleans())
def test_folding_any_container_and_back_changes_nothing(space, define_by_run):
    class Same(Component):
        @api
        @graph_fn(fold_time=True)
        def call(self, x: Tensor) -> Tensor:
            return x

    test = ComponentTest(Same(), {"x": space}, define_by_run=define_by_run)
    value = space.sample(0, batch=2, time=3)
    for path, leaf in flatten(value).items():
        np.testing.assert_array_equal(flatten(test.call("call", value))[path], leaf)


def test_empty_batches_fold_too():
    test = ComponentTest(Rows(), {"x": Box((2,), ranks="BT")})
    assert test.call("call", np.zeros((0, 4, 2), "float32")).shape == (0, 4)
