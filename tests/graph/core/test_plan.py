from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest

from rlg.errors import ExecutionError
from rlg.graph import Component, Size, Static, Tensor, api, graph_fn, host_fn
from rlg.graph.core.assembly.assemble import Fresh
from rlg.graph.core.plan.plan import make_plan
from rlg.graph.spaces import Box, Dict
from rlg.testing import ComponentTest
from tests.graph.core.parts import (
    LINE,
    ROWS,
    SCALAR,
    VECTOR,
    AddOne,
    Counter,
    Dense,
    Memory,
    Noise,
    Plus,
)

INT = Box((), "int64", ranks="")


class Net(Component):
    def __init__(self) -> None:
        self.layers = [Dense(3), Dense(2)]
        self.plus = Plus()

    @api
    def forward(self, inputs, goal):
        x = inputs
        for layer in self.layers:
            x = layer.call(x)
        self.plus.call(x, x)
        return self.plus.call(x, goal["b"]), goal["a"]


NET = {"inputs": VECTOR, "goal": Dict(a=SCALAR, b=VECTOR)}


# -- source ---------------------------------------------------------------------------------------
def test_a_plan_is_one_straight_line():
    source = ComponentTest(Net(), NET).executor.plan("forward").source
    assert source.splitlines() == [
        "def forward(inputs, goal):",
        "    t0 = dense_0(inputs)                                      # net/dense-0",
        "    t1 = dense_1(t0)                                          # net/dense-1",
        "    t2 = plus(t1, goal['b'])                                  # net/plus",
        "    return (t2, snapshot(ops, goal['a']), )",
    ]


def test_folds_and_splits_are_spelled_out():
    class Each(Component):
        def __init__(self) -> None:
            self.dense = Dense()
            self.add = type(
                "Add",
                (Plus,),
                {"call": api(graph_fn(split=True, outputs=1)(lambda self, x, y: x + y))},
            )()

        @api
        def call(self, inputs, y):
            return self.add.call({"a": self.dense.call(inputs), "b": y}, 2.0)

    spaces = {"inputs": Box((2,), ranks="BT"), "y": SCALAR}
    lines = ComponentTest(Each(), spaces).executor.plan("call").source.splitlines()
    assert [line.split("  #")[0].rstrip() for line in lines] == [
        "def call(inputs, y):",
        "    t0 = dense(fold(ops_dense, inputs))",
        "    t0 = unfold(ops_dense, t0, inputs)",
        "    t1 = add(t0, 2.0)",
        "    t2 = add(y, 2.0)",
        "    t3 = {'a': t1, 'b': t2}",
        "    return t3",
    ]


def test_regions_are_nested_functions():
    class Loop(Component):
        def __init__(self) -> None:
            self.plus = Plus()

        @api
        def step(self, carry, x):
            total = self.plus.call(carry, x)
            return total, None

        @api
        def call(self, xs):
            return self.scan(self.step, 0.0, xs)[0]

    test = ComponentTest(Loop(), {"xs": Box(ranks="T")}, apis=["call"])
    lines = test.executor.plan("call").source.splitlines()
    assert [line.split("  #")[0].rstrip() for line in lines] == [
        "def call(xs):",
        "    def body_t0(carry, x):",
        "        t1 = plus(carry, x)",
        "        return (t1, None, )",
        "    t0 = ops_loop.scan(body_t0, 0.0, xs)",
        "    return t0[0]",
    ]


def test_graph_functions_of_one_component_have_names_of_their_own():
    test = ComponentTest(
        Memory(), {"records": VECTOR, "indices": Box((), "int64"), "values": SCALAR}
    )
    plan = make_plan(
        "both",
        [test.executor.builder.graph_of(*call) for call in _calls(test, "insert", "update")],
        test.executor.lowering(),
        test.executor.builder.binding,
    )
    assert "memory(records)" in plan.source
    assert "memory_update(indices" in plan.source


def _calls(test: ComponentTest, *names: str) -> list[Any]:
    found = [test.executor._find(name) for name in names]
    return [(root, m, {p.name: Fresh() for p in m.parameters}) for root, m in found]


# -- names that could collide ---------------------------------------------------------------------
NAMES = [
    "t0",
    "t1",
    "fold",
    "carry",
    "x",
    "draws",
    "call",
    "constant",
    "lambda",
    "None",
    "print",
    "ops_add",
]


@pytest.mark.parametrize("name", NAMES)
def test_components_may_have_any_name(name):
    class Root(Component):
        def __init__(self) -> None:
            self.add = AddOne().configure(scope=name)

        @api
        def call(self, y):
            return self.add.call(self.add.call(y))

    ComponentTest(Root(), {"y": SCALAR}).test("call", LINE, expected=LINE + 2.0)


@pytest.mark.parametrize("name", ["t0", "t1", "fold", "carry", "draws", "add", "call", "constant"])
def test_arguments_may_have_any_name(name):
    root: dict[str, Any] = {"Component": Component, "AddOne": AddOne, "api": api}
    exec(
        "class Root(Component):\n"
        "    def __init__(self): self.add = AddOne()\n"
        "    @api\n"
        f"    def call(self, {name}, y):\n"
        f"        return self.add.call(y), self.add.call({name})\n",
        root,
    )
    test = ComponentTest(root["Root"](), {name: SCALAR, "y": SCALAR})
    test.test("call", LINE, LINE * 10.0, expected=(LINE * 10.0 + 1.0, LINE + 1.0))


def test_arguments_of_several_calls_do_not_collide():
    class Root(Component):
        def __init__(self) -> None:
            self.add = AddOne()

        @api
        def one(self, x_1):
            return self.add.call(x_1)

        @api
        def two(self, x):
            return self.add.call(x)

    test = ComponentTest(Root(), {"x": SCALAR, "x_1": SCALAR})
    one, two = test.executor.execute([("one", LINE), ("two", LINE * 2.0)])
    assert one.tolist() == [2.0, 3.0, 4.0]
    assert two.tolist() == [3.0, 5.0, 7.0]


@pytest.mark.parametrize("define_by_run", [False, True])
def test_keyword_only_arguments_reach_graph_functions(define_by_run):
    class Keyword(Component):
        @api
        @graph_fn
        def call(self, x: Tensor, *, y: Tensor) -> Tensor:
            return x - y

    test = ComponentTest(Keyword(), {"x": SCALAR, "y": SCALAR}, define_by_run=define_by_run)
    test.test("call", LINE, LINE * 2.0, expected=-LINE)


# -- what is left out -----------------------------------------------------------------------------
class Lazy(Component):
    """Calls much and returns little."""

    def __init__(self) -> None:
        self.pure = AddOne()
        self.noise = Noise()
        self.counter = Counter()

    @api
    def call(self, x, n):
        self.pure.call(self.pure.call(x))
        self.counter.up(n)
        self.noise.call(x)
        return self.pure.call(x)


def test_dead_code_is_left_out_and_effects_are_kept():
    test = ComponentTest(Lazy(), {"x": SCALAR, "n": INT})
    plan = test.executor.plan("call")
    called = [line.split("# ")[1] for line in plan.source.splitlines() if "# " in line]
    assert called == ["lazy/counter.up", "lazy/noise", "lazy/pure"]
    assert plan.calls == 3
    test.call("call", LINE, 4)
    assert test.read("counter/count") == 4
    assert test.executor.builder.binding.streams["lazy/noise"].state[:4] != [0, 0, 0, 0]


def test_plans_count_calls_and_writes():
    class Agent(Component):
        def __init__(self) -> None:
            self.net = Dense()
            self.counter = Counter()

        @api
        def act(self, inputs):
            return self.net.call(inputs)

        @api
        def update(self, inputs, n):
            return self.net.call(inputs), self.counter.up(n)

    test = ComponentTest(Agent(), {"inputs": VECTOR, "n": INT})
    act, update = test.executor.plan("act"), test.executor.plan("update")
    assert (act.calls, act.writes, act.gradients) == (1, 0, 0)
    assert (update.calls, update.writes, update.gradients) == (2, 1, 0)


def test_an_unused_host_function_is_kept():
    seen: list[Any] = []

    class Host(Component):
        @api
        @host_fn(spaces=lambda self, x: x)
        def send(self, x: Tensor) -> Tensor:
            seen.append(np.asarray(x).tolist())
            return x

        @api
        def call(self, x):
            self.send(x)
            return x

    ComponentTest(Host(), {"x": SCALAR}).call("call", LINE)
    assert seen == [[1.0, 2.0, 3.0]]


# -- several calls in one plan --------------------------------------------------------------------
class Agent(Component):
    def __init__(self) -> None:
        self.memory = Memory()

    @api
    def observe(self, records):
        self.memory.insert(records)

    @api
    def update(self, n: Size = 4):
        return self.memory.sample(n)[0]


@pytest.mark.parametrize("define_by_run", [False, True])
class TestSeveralCalls:
    def test_calls_happen_in_order(self, define_by_run):
        test = ComponentTest(Agent(), {"records": VECTOR}, define_by_run=define_by_run)
        nothing, batch = test.executor.execute([("observe", ROWS[:1]), ("update", 4)])
        assert nothing is None
        assert batch.tolist() == [[1.0, 2.0]] * 4

    def test_the_same_call_twice_takes_both_arguments(self, define_by_run):
        test = ComponentTest(Agent(), {"records": VECTOR}, define_by_run=define_by_run)
        test.executor.execute([("observe", ROWS[:1]), ("observe", ROWS[1:])])
        assert test.read("memory/rows")[:3].tolist() == ROWS.tolist()

    def test_draws_in_loops_take_the_sizes_of_their_own_call(self, define_by_run):
        class Loops(Component):
            def __init__(self) -> None:
                self.noise = Noise()

            @api
            def step(self, carry, x):
                return carry, self.noise.call(x)

            @api
            def one(self, xs):
                return self.scan(self.step, 0.0, xs)[1]

            @api
            def two(self, ys):
                return self.scan(self.step, 0.0, ys)[1]

        spaces = {"xs": Box(ranks="TB"), "ys": Box(ranks="TB")}
        test = ComponentTest(Loops(), spaces, apis=["one", "two"], define_by_run=define_by_run)
        calls = [("one", np.zeros((2, 3), "float32")), ("two", np.zeros((4, 5), "float32"))]
        assert [out.shape for out in test.executor.execute(calls)] == [(2, 3), (4, 5)]


# -- tracebacks -----------------------------------------------------------------------------------
def test_tracebacks_show_the_line_of_the_plan():
    test = ComponentTest(Plus(), {"x": SCALAR, "y": SCALAR})
    with pytest.raises(ValueError, match="broadcast") as error:
        test.call("call", LINE, LINE[:2])
    text = "".join(traceback.format_exception(error.value))
    assert "t0 = plus(x, y)" in text
    assert ": call>" in text


# -- outputs --------------------------------------------------------------------------------------
@pytest.mark.parametrize("define_by_run", [False, True])
class TestOutputs:
    def test_lists_come_out_as_tuples_of_arrays(self, define_by_run):
        class Lists(Component):
            def __init__(self) -> None:
                self.add = AddOne()

            @api
            def call(self, x):
                return [self.add.call(x), x]

        test = ComponentTest(Lists(), {"x": SCALAR}, define_by_run=define_by_run)
        test.test("call", LINE, expected=(LINE + 1.0, LINE))

    def test_variables_come_out_as_copies(self, define_by_run):
        class Weights(Counter):
            @api
            def weights(self):
                return self.variables(trainable=None)

        test = ComponentTest(Weights(), {"n": INT}, define_by_run=define_by_run)
        weights = test.call("weights")
        test.call("up", 3)
        assert weights["count"] == 0

    def test_none_and_constants_come_out(self, define_by_run):
        class Constants(Component):
            @api
            def call(self, x):
                return None, x, {"one": 1.0, "name": True}

        test = ComponentTest(Constants(), {"x": SCALAR}, define_by_run=define_by_run)
        nothing, x, rest = test.call("call", LINE)
        assert nothing is None
        assert x.tolist() == LINE.tolist()
        assert rest["one"] == 1.0
        assert rest["name"]


# -- define-by-run --------------------------------------------------------------------------------
class Helpers(Component):
    """A graph function that calls another one of its own component."""

    @graph_fn
    def twice(self, x: Tensor) -> Tensor:
        return x * 2.0

    @api
    @graph_fn
    def call(self, x: Tensor) -> Tensor:
        return self.twice(x) + self.twice(x)


class Mixed(Component):
    def __init__(self) -> None:
        self.net = Net()
        self.noise = Noise()
        self.counter = Counter()

    @api
    def step(self, carry, x):
        y = self.noise.call(x)
        return self.net.plus.call(carry, y), y

    @api
    def call(self, inputs, goal, n, loop: Static[bool] = True):
        out, total = self.net.forward(inputs, goal)
        with self.no_gradient():
            total = self.noise.call(total)
        if loop:
            total, out = self.scan(self.step, 0.0, total)
        self.counter.up(n)
        return {"total": total, "out": out, "count": self.counter.up(n)}


@pytest.mark.parametrize(
    ("make", "spaces", "name"),
    [
        (Net, NET, "forward"),
        (Helpers, {"x": SCALAR}, "call"),
        (Mixed, {**NET, "n": INT}, "call"),
        (Lazy, {"x": SCALAR, "n": INT}, "call"),
        (Noise, {"x": Box((3,), ranks="TB")}, "call"),
    ],
)
def test_define_by_run_equals_the_plan(make, spaces, name):
    results = []
    for define_by_run in (False, True):
        test = ComponentTest(make(), spaces, apis=[name], define_by_run=define_by_run)
        inputs = test.sample(name)
        results.append([test.call(name, *inputs) for _ in range(2)] + [test.executor.get_state()])
    np.testing.assert_equal(results[0], results[1])


def test_define_by_run_refuses_an_api_that_changes_its_calls():
    class Fickle(Component):
        def __init__(self) -> None:
            self.add = AddOne()
            self.times = 1

        @api
        def call(self, x):
            for _ in range(self.times):
                x = self.add.call(x)
            return x

    component = Fickle()
    test = ComponentTest(component, {"x": SCALAR}, define_by_run=True)
    component.times = 2
    with pytest.raises(ExecutionError, match="define-by-run left the assembled graph"):
        test.call("call", LINE)


# -- summaries ------------------------------------------------------------------------------------
class Loss(Component):
    def __init__(self) -> None:
        self.add = AddOne()
        self.dead = AddOne()

    @api
    def call(self, x):
        y = self.add.call(x)
        self.summary("y", y, "histogram")
        self.summary("dead", self.dead.call(x))
        return y


def test_summaries_are_left_out_of_plans_by_default():
    plan = ComponentTest(Loss(), {"x": SCALAR}).executor.plan("call")
    assert plan.summaries == []
    assert plan.calls == 1


def test_a_plan_with_summaries_returns_them_by_tag():
    test = ComponentTest(Loss(), {"x": SCALAR})
    [graph] = test.executor.builder._graphs.values()
    plan = make_plan(
        "call", [graph], test.executor.lowering(), test.executor.builder.binding, summaries=True
    )
    assert plan.summaries == [("loss/y", "histogram"), ("loss/dead", "scalar")]
    out, noted = plan.function(LINE)
    assert out.tolist() == [2.0, 3.0, 4.0]
    assert {tag: value.tolist() for tag, value in noted.items()} == {
        "loss/y": [2.0, 3.0, 4.0],
        "loss/dead": [2.0, 3.0, 4.0],
    }


def test_summaries_inside_split_methods_are_not_lost():
    class Root(Component):
        def __init__(self) -> None:
            self.loss = Loss()

        @api(split=True)
        def call(self, x):
            return self.loss.call(x)

    test = ComponentTest(Root(), {"x": Dict(a=SCALAR)})
    [graph] = test.executor.builder._graphs.values()
    plan = make_plan(
        "call", [graph], test.executor.lowering(), test.executor.builder.binding, summaries=True
    )
    assert [tag for tag, _ in plan.summaries] == ["root/loss/y/a", "root/loss/dead/a"]
