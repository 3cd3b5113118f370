from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.backends.executor import make_executor
from rlg.backends.numpy.executor import NumpyExecutor
from rlg.errors import BackendError, BuildError
from rlg.graph import Component, Size, Static, Tensor, api, graph_fn
from rlg.graph.spaces import Box, Dict, Space, Tuple
from rlg.testing import ComponentTest
from tests.graph.core.parts import (
    ALONE,
    LINE,
    ROWS,
    SCALAR,
    VECTOR,
    AddOne,
    Counter,
    Dense,
    Memory,
    Noise,
)


def output_space(
    component: Component, spaces: dict[str, Any], name: str = "call", **options: Any
) -> Any:
    """The spaces that the build found for what an API method returns."""
    return ComponentTest(component, spaces, **options).executor.output_space(name)


def fn(function: Any, **marks: Any) -> Component:
    """A component whose only API is this graph function."""
    marks.setdefault("outputs", 1)
    function.__name__ = "call"
    return type("Fn", (Component,), {"call": api(graph_fn(**marks)(function))})()


def test_output_spaces_are_those_of_the_variant_that_is_asked_for():
    class Sampler(Component):
        @api
        @graph_fn
        def sample(self, n: Size, flat: Static[bool] = False) -> Tensor:
            return self.ops.zeros((n,) if flat else (n, 3))

        @api
        def both(self, x, y=None):
            return x, (self.sample(4), {"y": y})

        @api
        @graph_fn
        def nothing(self) -> None:
            pass

    executor = ComponentTest(Sampler(), {"x": VECTOR, "y": SCALAR}).executor
    assert executor.output_space("sample") == Box((3,))
    assert executor.output_space("sample", 4, True) == SCALAR
    assert executor.output_space("sample", flat=True) == SCALAR
    assert executor.output_space("both", y=True) == (VECTOR, (Box((3,)), Dict(y=SCALAR)))
    assert executor.output_space("both") == (VECTOR, (Box((3,)), None))
    assert executor.output_space("nothing") is None


def test_declared_bounds_are_added_to_what_a_dry_run_shows():
    known = Box((2,), low=0.0, high=1.0, ranks="TB")
    component = fn(lambda self, x: x * 0.5, bounds=lambda self: known)
    assert output_space(component, {"x": VECTOR}) == Box((2,), low=0.0, high=1.0)
    nested = fn(lambda self, x: ({"a": (x, x)}, x), outputs=2, bounds=lambda self: (both, None))
    both = Dict(a=Tuple(known, VECTOR))
    expected = Dict(a=Tuple(known.with_ranks("B"), VECTOR))
    assert output_space(nested, {"x": VECTOR}) == (expected, VECTOR)


@pytest.mark.parametrize("said", [SCALAR, (VECTOR, None), Dict(a=VECTOR)])
def test_bounds_of_another_shape_are_refused(said):
    component = fn(lambda self, x: x, bounds=lambda self: said)
    with pytest.raises(BuildError, match=r"fn.call: `bounds=` names .* Name one space of equal"):
        ComponentTest(component, {"x": VECTOR})


# -- spaces by dry runs ---------------------------------------------------------------------------
@pytest.mark.parametrize("ranks", ["", "B", "T", "BT", "TB", "F"])
def test_ranks_pass_through(ranks):
    component = fn(lambda self, x: x * 2.0)
    assert output_space(component, {"x": Box((4,), ranks=ranks)}) == Box((4,), ranks=ranks)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
def test_dtypes_pass_through(dtype):
    component = fn(lambda self, x: self.ops.reshape(x, (-1, 2, 2)))
    assert output_space(component, {"x": Box((4,), dtype)}) == Box((2, 2), dtype)


def test_bounds_do_not_pass():
    component = fn(lambda self, x: x)
    assert output_space(component, {"x": Box((), low=0.0, high=1.0)}) == Box()


def test_transposing_turns_the_ranks():
    component = fn(lambda self, x: self.ops.transpose(x, (1, 0, 2)))
    assert output_space(component, {"x": Box((4,), ranks="BT")}) == Box((4,), ranks="TB")


def test_folding_and_reducing_are_seen():
    ranked = {"x": Box((4,), ranks="BT")}
    fold = fn(lambda self, x: self.ops.fold_time(x))
    assert output_space(fold, ranked) == Box((4,), ranks="F")
    mean = fn(lambda self, x: self.ops.mean(x))
    assert output_space(mean, ranked) == ALONE
    last = fn(lambda self, x: x[:, -1])
    assert output_space(last, ranked) == Box((4,))
    assert output_space(fn(lambda self, x: x[0]), ranked) == Box((4,), ranks="T")


def test_containers_come_out_as_they_are():
    component = fn(lambda self, x: {"a": x, "b": (x[..., 0], self.ops.sum(x))})
    expected = Dict(a=VECTOR, b=Tuple(SCALAR, ALONE))
    assert output_space(component, {"x": VECTOR}) == expected


def test_two_outputs_have_a_space_each():
    component = fn(lambda self, x: (x, self.ops.argmax(x, -1)), outputs=2)
    assert output_space(component, {"x": VECTOR}) == (VECTOR, Box((), "int64"))


def test_a_size_argument_is_a_batch():
    class Zeros(Component):
        @api
        @graph_fn
        def call(self, n: Size) -> tuple[Tensor, Tensor]:
            return self.ops.zeros((n, 3)), self.ops.arange(n)

    assert output_space(Zeros(), {}) == (Box((3,)), Box((), "int64"))


def test_two_batches_on_end_are_a_batch():
    component = fn(lambda self, x, y: self.ops.concat([x, y], 0))
    assert output_space(component, {"x": VECTOR, "y": VECTOR}) == VECTOR


@pytest.mark.parametrize("ranks", ["BT", "TB"])
@pytest.mark.parametrize("change", [-1, 1])
def test_a_shortened_or_lengthened_time_is_still_time(ranks, change):
    axis = ranks.index("T")

    def call(self, x):
        if change < 0:
            return x[1:] if axis == 0 else x[:, 1:]
        return self.ops.concat([x, x[:1] if axis == 0 else x[:, :1]], axis)

    assert output_space(fn(call), {"x": Box((4,), ranks=ranks)}) == Box((4,), ranks=ranks)


def test_declared_spaces_replace_the_dry_run():
    ran = []

    def call(self, x):
        ran.append(1)
        return x

    component = fn(call, spaces=lambda self, x: Box((7,), ranks=x.ranks))
    assert output_space(component, {"x": VECTOR}) == Box((7,))
    assert ran == []


def test_declared_spaces_of_several_outputs_are_a_tuple():
    component = fn(lambda self, x: (x, x), outputs=2, spaces=lambda self, x: (x, SCALAR))
    assert output_space(component, {"x": VECTOR}) == (VECTOR, SCALAR)


def test_spaces_may_be_given_as_specs():
    component = fn(lambda self, x: x)
    spec = {"type": "box", "shape": [3], "dtype": "int64"}
    assert output_space(component, {"x": spec}) == Box((3,), "int64")
    assert output_space(fn(lambda self, x: x), {"x": "float"}) == SCALAR


def test_a_space_may_be_given_for_one_method_alone():
    class Two(Component):
        @api
        @graph_fn
        def one(self, x: Tensor) -> Tensor:
            return x

        @api
        @graph_fn
        def two(self, x: Tensor) -> Tensor:
            return x

    test = ComponentTest(Two(), {"x": SCALAR, "two.x": VECTOR})
    assert test.call("one", LINE).shape == (3,)
    assert test.call("two", ROWS).shape == (3, 2)


def test_logarithms_and_divisions_survive_the_dry_run():
    component = fn(lambda self, x: self.ops.log(x) / self.ops.sum(x))
    ComponentTest(component, {"x": SCALAR}).test("call", [1.0, 1.0], expected=[0.0, 0.0])


def test_outputs_lie_in_the_spaces_that_the_build_found():
    component = fn(lambda self, x: {"a": x, "m": self.ops.mean(x, -1), "i": self.ops.argmax(x, -1)})
    test = ComponentTest(component, {"x": Box((4,), ranks="TB")})
    [graph] = test.executor.builder._graphs.values()
    assert graph.outputs.space.contains(test.call("call", *test.sample("call")))


# -- dry runs leave no trace ----------------------------------------------------------------------
def test_a_dry_run_writes_nothing_and_draws_nothing():
    class Writes(Component):
        def create_variables(self) -> None:
            self.v = self.variable("v", (3,), value=5.0)
            self.n = self.variable("n", dtype="int64", value=7)

        @api
        @graph_fn
        def call(self, x: Tensor) -> Tensor:
            ops = self.ops
            ops.assign(self.v, ops.zeros((3,)))
            ops.assign_add(self.n, ops.constant(1, "int64"))
            ops.scatter_rows(self.v, ops.arange(2), ops.zeros((2,)))
            return x + ops.random_normal(ops.shape_of(x))

    test = ComponentTest(Writes(), {"x": SCALAR})
    assert test.read("v").tolist() == [5.0, 5.0, 5.0]
    assert test.read("n") == 7
    fresh = make_executor("numpy")
    fresh.build(Writes(), {"x": SCALAR})
    stream = test.executor.builder.binding.streams["writes"]
    assert stream.state[:4] == [0, 0, 0, 0]
    test.call("call", LINE)
    assert test.read("v").tolist() == [0.0, 0.0, 0.0]
    assert test.read("n") == 8
    assert stream.state[:4] != [0, 0, 0, 0]


# -- the flow -------------------------------------------------------------------------------------
def test_a_component_is_built_as_soon_as_some_call_feeds_it():
    class Agent(Component):
        def __init__(self) -> None:
            self.memory = Memory()

        @api
        def update(self, n: Size = 4):
            batch, rows = self.memory.sample(n)
            self.memory.update(rows, self.score(batch))
            return rows

        @graph_fn
        def score(self, batch: Tensor) -> Tensor:
            return self.ops.sum(batch, -1)

        @api
        def observe(self, records):
            self.memory.insert(records)

    test = ComponentTest(Agent(), {"records": VECTOR})
    test.call("observe", ROWS)
    rows = test.call("update", 5)
    assert rows.shape == (5,)
    expected = np.zeros(10, "float32")
    expected[rows] = ROWS.sum(-1)[rows]
    assert test.read("memory/weights").tolist() == expected.tolist()


def test_variables_are_created_once_breadth_first():
    order: list[str] = []

    class Layer(Dense):
        def create_variables(self, *, inputs: Box) -> None:
            order.append(f"{self.path} {inputs.shape}")
            super().create_variables(inputs=inputs)

    class Net(Component):
        def __init__(self) -> None:
            self.deep = [Layer(4), Layer(3)]
            self.wide = Layer(5)

        @api
        def call(self, inputs):
            x = self.deep[1].call(self.deep[0].call(inputs))
            return x, self.wide.call(inputs)

        @api
        def again(self, inputs):
            return self.wide.call(inputs)

    ComponentTest(Net(), {"inputs": VECTOR})
    assert order == ["net/layer-0 (2,)", "net/wide (2,)", "net/layer-1 (4,)"]


def test_optional_needs_that_are_known_last_are_waited_for():
    """The mask comes from a component that is complete long after the other input is known."""

    class Masked(Component):
        def create_variables(self, *, x: Space, mask: Space | None = None) -> None:
            self.v = self.variable("v", (7,) if mask is None else mask.shape)

        @api
        @graph_fn
        def call(self, x: Tensor, mask: Tensor = None) -> Tensor:
            return x

    class Root(Component):
        def __init__(self) -> None:
            self.masked, self.layers = Masked(), [Dense(3) for _ in range(4)]

        @api
        def call(self, x):
            mask = x
            for layer in self.layers:
                mask = layer.call(mask)
            return self.masked.call(x, mask)

    test = ComponentTest(Root(), {"x": VECTOR})
    assert test.executor.kinds().keys() >= {"root/masked/v"}
    assert test.read("masked/v").shape == (3,)


def test_variables_are_made_for_api_arguments_not_for_inner_ones_of_the_same_name():
    """The inner `inputs` is known at once, the API method's own one much later."""

    class Layer(Component):
        def create_variables(self, *, inputs: Space) -> None:
            self.v = self.variable("v", inputs.shape)

        @api
        def call(self, x, inputs):
            return self.add(self.prepare(x), inputs)

        @graph_fn
        def prepare(self, inputs: Tensor) -> Tensor:
            return self.ops.sum(inputs, -1)

        @graph_fn
        def add(self, x: Tensor, y: Tensor) -> Tensor:
            return x + self.ops.sum(y * self.v, -1)

    class Root(Component):
        def __init__(self) -> None:
            self.layer, self.layers = Layer(), [Dense(3) for _ in range(4)]

        @api
        def call(self, x):
            y = x
            for layer in self.layers:
                y = layer.call(y)
            return self.layer.call(x, y)

    assert ComponentTest(Root(), {"x": VECTOR}).read("layer/v").shape == (3,)


def test_optional_needs_are_none_where_nothing_feeds_them():
    seen: list[Any] = []

    class Maybe(Component):
        def create_variables(self, *, x: Space, mask: Space | None = None) -> None:
            seen.append((x, mask))

        @api
        @graph_fn
        def call(self, x: Tensor, mask: Tensor = None) -> Tensor:
            return x if mask is None else x * mask

    ComponentTest(Maybe(), {"x": SCALAR})
    ComponentTest(Maybe(), {"x": SCALAR, "mask": SCALAR})
    assert seen == [(SCALAR, None), (SCALAR, SCALAR)]


def test_a_component_that_may_stay_unconnected_has_no_variables():
    class Net(Component):
        def __init__(self) -> None:
            self.add = AddOne()
            self.dead = Dense()
            self.dead.must_be_complete = False

        @api
        def call(self, x):
            return self.add.call(x)

    test = ComponentTest(Net(), {"x": VECTOR})
    assert test.executor.get_weights(trainable=None) == {}


def test_variables_as_a_record_wait_for_all_of_them():
    class Net(Component):
        def __init__(self) -> None:
            self.layers = [Dense(3), Dense(1)]

        @api
        def weights(self):
            return self.variables()

        @api
        def call(self, inputs):
            return self.layers[1].call(self.layers[0].call(inputs))

    test = ComponentTest(Net(), {"inputs": VECTOR})
    found = {name: value.shape for name, value in test.call("weights").items()}
    assert found == {
        "dense-0/bias": (3,),
        "dense-0/kernel": (2, 3),
        "dense-1/bias": (1,),
        "dense-1/kernel": (3, 1),
    }


def test_a_long_chain_is_built_in_linear_time():
    class Chain(Component):
        def __init__(self) -> None:
            self.layers = [Dense(2) for _ in range(200)]

        @api
        def call(self, inputs):
            for layer in self.layers:
                inputs = layer.call(inputs)
            return inputs

    test = ComponentTest(Chain(), {"inputs": VECTOR})
    assert test.statistics.components == 201
    assert test.statistics.nodes == 200
    assert test.statistics.variables == 400


# -- selection of API methods ---------------------------------------------------------------------
class Halves(Component):
    def __init__(self) -> None:
        self.left = AddOne()
        self.right = AddOne()

    @api
    def one(self, x):
        return self.left.call(x)

    @api
    def two(self, y):
        return self.right.call(y)


def test_methods_that_are_left_out_need_no_spaces():
    test = ComponentTest(Halves(), {"x": SCALAR}, apis=["one"])
    test.test("one", LINE, expected=LINE + 1.0)


# -- several roots --------------------------------------------------------------------------------
def test_several_roots_live_in_one_executor():
    executor = make_executor("numpy")
    executor.build(
        [Dense().configure(scope="a"), Counter()],
        {"inputs": VECTOR, "n": Box((), "int64", ranks="")},
    )
    assert executor.execute("call", ROWS).shape == (3, 2)
    assert executor.execute("up", 3) == 3
    assert sorted(executor.get_weights(trainable=None)) == ["a/bias", "a/kernel", "counter/count"]


def test_an_api_of_several_roots_is_told_by_its_path():
    executor = make_executor("numpy")
    roots = [AddOne().configure(scope="a"), Noise().configure(scope="b")]
    executor.build(roots, {"x": SCALAR})
    assert executor.execute("a/call", LINE).tolist() == [2.0, 3.0, 4.0]
    assert (executor.execute("b/call", LINE) > LINE).all()


def test_roots_may_share_a_component():
    class Root(Component):
        def __init__(self, counter: Component) -> None:
            self.counter = counter

        @api
        def up(self, n):
            return self.counter.up(n)

    counter, executor = Counter(), make_executor("numpy")
    roots = [Root(counter).configure(scope="a"), Root(counter).configure(scope="b")]
    executor.build(roots, {"n": Box((), "int64", ranks="")})
    assert executor.execute("a/up", 3) == 3
    assert executor.execute("b/up", 4) == 7


# -- shared variables -----------------------------------------------------------------------------
class Shares(Component):
    def __init__(self) -> None:
        self.one = Dense().configure(shared_scope="common")
        self.two = Dense().configure(shared_scope="common")

    @api
    def call(self, inputs):
        return self.one.call(inputs), self.two.call(inputs)

    @api
    def weights(self):
        return self.variables()


def test_components_of_a_shared_scope_share_variables():
    test = ComponentTest(Shares(), {"inputs": VECTOR})
    assert sorted(test.executor.get_weights()) == ["common/bias", "common/kernel"]
    one, two = test.call("call", ROWS)
    np.testing.assert_array_equal(one, two)
    test.executor.set_weights({"common/bias": np.array([10.0, 20.0], "float32")}, partial=True)
    one, two = test.call("call", ROWS)
    np.testing.assert_array_equal(one, two)


def test_a_shared_variable_is_listed_once():
    test = ComponentTest(Shares(), {"inputs": VECTOR})
    assert len(test.call("weights")) == 2


# -- variants -------------------------------------------------------------------------------------
class Variants(Component):
    @api
    @graph_fn
    def call(self, x: Tensor, mask: Tensor = None, twice: Static[bool] = False) -> Tensor:
        y = x if mask is None else x * mask
        return y * 2.0 if twice else y


def test_optional_tensors_and_static_bools_are_built_in_all_variants():
    test = ComponentTest(Variants(), {"x": SCALAR, "mask": SCALAR})
    assert test.statistics.nodes == 4
    mask = np.array([0.0, 1.0, 2.0], "float32")
    test.test("call", LINE, expected=[1.0, 2.0, 3.0])
    test.test("call", LINE, mask, expected=[0.0, 2.0, 6.0])
    test.test("call", LINE, twice=True, expected=[2.0, 4.0, 6.0])
    test.test("call", LINE, mask, True, expected=[0.0, 4.0, 12.0])
    assert test.statistics.nodes == 4


def test_each_set_of_static_values_has_one_plan():
    test = ComponentTest(Variants(), {"x": SCALAR, "mask": SCALAR})
    plan = test.executor.plan
    assert plan("call") is plan("call", twice=False)
    assert plan("call") is not plan("call", twice=True)
    assert plan("call", mask=True) is not plan("call")


def test_a_static_value_may_come_after_the_build():
    class Repeat(Component):
        def __init__(self) -> None:
            self.add = AddOne()

        @api
        def call(self, x, n: Static[int] = 1):
            for _ in range(n):
                x = self.add.call(x)
            return x

    test = ComponentTest(Repeat(), {"x": SCALAR})
    test.test("call", LINE, 7, expected=LINE + 7.0)
    test.test("call", LINE, n=0, expected=LINE)
    test.test("call", LINE, expected=LINE + 1.0)


def test_a_size_may_come_after_the_build():
    test = ComponentTest(
        Memory(), {"records": VECTOR, "indices": Box((), "int64"), "values": SCALAR}
    )
    test.call("insert", ROWS)
    assert test.call("sample", 7)[0].shape == (7, 2)
    assert test.call("sample", 2)[0].shape == (2, 2)


def test_equal_static_values_of_different_types_have_plans_of_their_own():
    class Scale(Component):
        @api
        @graph_fn
        def call(self, x: Tensor, k: Static[Any] = 1) -> Tensor:
            return self.ops.cast(x, "float32" if isinstance(k, float) else "float64")

    test = ComponentTest(Scale(), {"x": SCALAR})
    assert test.call("call", LINE, 1).dtype == "float64"
    assert test.call("call", LINE, 1.0).dtype == "float32"


def test_a_bad_static_value_spoils_nothing():
    class Shape(Component):
        @api
        @graph_fn
        def call(self, x: Tensor, k: Static[int] = 2) -> Tensor:
            return self.ops.reshape(x, (self.ops.batch_size(x), k, 2 // k))

    test = ComponentTest(Shape(), {"x": VECTOR})
    messages = []
    for _ in range(2):
        with pytest.raises(RuntimeError) as error:
            test.call("call", ROWS, k=3)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert test.call("call", ROWS, k=1).shape == (3, 1, 2)


def test_a_static_value_to_build_with_stands_among_the_spaces():
    class Units(Component):
        @api
        @graph_fn
        def call(self, x: Tensor, k: Static[int]) -> Tensor:
            return x * float(k)

    test = ComponentTest(Units(), {"x": SCALAR, "k": 3})
    test.test("call", LINE, 3, expected=LINE * 3.0)


def test_a_tensor_default_is_a_constant_where_no_space_is_given():
    class Default(Component):
        @api
        @graph_fn
        def call(self, x: Tensor, scale: Tensor = 0.5) -> Tensor:
            return x * scale

    ComponentTest(Default(), {"x": SCALAR}).test("call", LINE, expected=[0.5, 1.0, 1.5])


# -- devices --------------------------------------------------------------------------------------
class Machine(NumpyExecutor):
    """NumPy on a machine with several devices that all compute alike."""

    def check_device(self, device: str) -> str:
        if device not in ("cpu", "gpu:0", "gpu:1"):
            raise BackendError(f"device {device!r}: this machine has cpu, gpu:0 and gpu:1.")
        return device


class Net(Component):
    def __init__(self) -> None:
        self.layers = [Dense(), Dense()]
        self.head = Dense()

    @api
    def call(self, inputs):
        for layer in [*self.layers, self.head]:
            inputs = layer.call(inputs)
        return inputs


def devices(net: Component, **options: Any) -> dict[str, str]:
    executor = Machine(**options)
    executor.build(net, {"inputs": VECTOR})
    return {str(part.path): part.ops.device for part in executor.builder.components}


def test_everything_runs_on_the_default_device():
    assert set(devices(Net(), device="gpu:1").values()) == {"gpu:1"}


def test_the_longest_prefix_of_the_device_map_wins():
    found = devices(Net(), devices={"net": "gpu:0", "net/dense-1": "gpu:1"})
    assert found == {
        "net": "gpu:0",
        "net/dense-0": "gpu:0",
        "net/dense-1": "gpu:1",
        "net/head": "gpu:0",
    }


def test_a_prefix_ends_at_a_slash():
    found = devices(Net(), devices={"net/dense-0": "gpu:0"})
    assert found["net/dense-1"] == "cpu"


def test_a_components_own_device_beats_the_map():
    net = Net()
    net.head.configure(device="gpu:1")
    assert devices(net, devices={"net": "gpu:0", "net/head": "gpu:0"})["net/head"] == "gpu:1"


def test_operations_and_variables_may_be_placed_apart():
    places: list[str] = []

    class Spy(Machine):
        def on_device(self, device: str) -> Any:
            places.append(device)
            return super().on_device(device)

    executor = Spy(devices={"dense": {"ops": "gpu:0", "variables": "gpu:1"}})
    dense = Dense()
    executor.build(dense, {"inputs": VECTOR})
    assert dense.ops.device == "gpu:0"  # type: ignore[attr-defined]
    assert places == ["gpu:1", "gpu:1"]


def test_an_unknown_path_in_the_device_map_is_refused():
    with pytest.raises(BackendError) as error:
        devices(Net(), devices={"net/dense-2": "cpu"})
    assert str(error.value) == (
        "device map: there is no component 'net/dense-2'. Valid paths: net, net/dense-0, "
        "net/dense-1, "
        "net/head."
    )


@pytest.mark.parametrize("options", [{"device": "tpu"}, {"devices": {"dense": "tpu"}}])
def test_an_unknown_device_is_refused(options):
    with pytest.raises(BackendError) as error:
        ComponentTest(Dense(), {"inputs": VECTOR}, **options)
    assert str(error.value) == "no device 'tpu' here; available: cpu."


# -- seeds ----------------------------------------------------------------------------------------
def kernel(seed: int, scope: str = "dense") -> Any:
    test = ComponentTest(Dense().configure(scope=scope), {"inputs": VECTOR}, seed=seed)
    return test.read("kernel")


def test_equal_seeds_give_equal_weights():
    np.testing.assert_array_equal(kernel(3), kernel(3))


def test_other_seeds_and_other_paths_give_other_weights():
    first = kernel(3)
    assert not np.isclose(first, kernel(4)).any()
    assert not np.isclose(first, kernel(3, "other")).any()


def test_weights_do_not_depend_on_what_else_is_in_the_graph():
    class Alone(Component):
        def __init__(self, extra: bool) -> None:
            if extra:
                self.before = Dense()
            self.head = Dense()
            self.extra = extra

        @api
        def call(self, inputs):
            if self.extra:
                self.before.call(inputs)
            return self.head.call(inputs)

    one, two = (ComponentTest(Alone(extra), {"inputs": VECTOR}) for extra in (False, True))
    np.testing.assert_array_equal(one.read("head/kernel"), two.read("head/kernel"))


def test_the_first_weights_of_seed_0_are_these():
    expected = [[0.4963068, 0.8765576], [0.4251060, -0.0707330]]
    np.testing.assert_allclose(kernel(0), expected, atol=1e-6)
