from __future__ import annotations

import pytest

from rlg.errors import AssemblyError, UnknownAPIError
from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.core.assembly.records import Call, Cond, Item, Scan
from rlg.testing import ComponentTest
from tests.graph.core.parts import AddOne, Plus, trace


class Net(Component):
    def __init__(self) -> None:
        self.first = AddOne()
        self.second = AddOne()
        self.plus = Plus()

    @api
    def forward(self, x):
        return self._both(self.first.call(x))

    @api
    def _both(self, y):
        return self.plus.call(self.second.call(y), 2.0), y


def labels(graph) -> list[str]:
    return [node.label for node in graph.nodes]


# -- what is traced -------------------------------------------------------------------------------
def test_graph_functions_become_calls_in_program_order():
    graph = trace(Net(), "forward")
    assert labels(graph) == ["net/first.call", "net/second.call", "net/plus.call"]


def test_api_calls_become_edges_from_caller_to_callee():
    edges = [
        (e.caller and e.caller.path, e.callee.path, e.method.name)
        for e in trace(Net(), "forward").edges
    ]
    assert edges == [
        (None, "net", "forward"),
        ("net", "net/first", "call"),
        ("net", "net", "_both"),
        ("net", "net/second", "call"),
        ("net", "net/plus", "call"),
    ]


def test_calls_are_linked_by_their_records():
    graph = trace(Net(), "forward")
    first, second, plus = graph.nodes
    assert first.arguments == {"x": graph.inputs["x"]}
    assert second.arguments == {"x": first.outputs[0]}
    assert plus.arguments == {"x": second.outputs[0], "y": 2.0}
    assert graph.outputs == (plus.outputs[0], first.outputs[0])


def test_a_graph_function_without_outputs_gives_none():
    class Sink(Component):
        @graph_fn
        def drop(self, x: Tensor) -> None: ...

        @api
        def call(self, x):
            return self.drop(x)

    assert trace(Sink(), "call").outputs is None


def test_several_outputs_come_as_a_tuple():
    class Two(Component):
        @api
        @graph_fn
        def call(self, x: Tensor) -> tuple[Tensor, Tensor]: ...

    graph = trace(Two(), "call")
    assert graph.outputs == graph.nodes[0].outputs
    assert len(graph.outputs) == 2


def test_items_of_records_are_nodes():
    class Pick(Component):
        @api
        def call(self, x):
            return x["a"], x["b"][1]

    graph = trace(Pick(), "call")
    assert [(type(n), n.key) for n in graph.nodes] == [(Item, "a"), (Item, "b"), (Item, 1)]


def test_regions_are_nodes_with_bodies():
    class Loop(Component):
        def __init__(self) -> None:
            self.plus = Plus()

        @api
        def step(self, carry, x):
            return self.plus.call(carry, x), x

        @api
        def other(self, carry, x):
            return x, carry

        @api
        def call(self, flag, xs):
            total, ys = self.scan(self.step, 0.0, xs)
            return self.cond(flag, self.step, self.other, total, ys)

    graph = trace(Loop(), "call")
    scan, cond = graph.nodes
    assert isinstance(scan, Scan)
    assert isinstance(cond, Cond)
    assert labels(scan.body) == ["loop/plus.call"]
    assert [labels(body) for body in cond.bodies] == [["loop/plus.call"], []]


def test_no_gradient_marks_what_is_called_inside():
    class Cut(Component):
        def __init__(self) -> None:
            self.add = AddOne()

        @api
        def call(self, x):
            y = self.add.call(x)
            with self.no_gradient():
                y = self.add.call(y)
            return self.add.call(y)

    assert [n.no_gradient for n in trace(Cut(), "call").nodes] == [False, True, False]


def test_static_values_steer_composition():
    class Deep(Component):
        def __init__(self) -> None:
            self.add = AddOne()

        @api
        def call(self, x, n: Static[int] = 1):
            for _ in range(n):
                x = self.add.call(x)
            return x

    assert len(trace(Deep(), "call", n=3).nodes) == 3
    assert len(trace(Deep(), "call", n=0).nodes) == 0


def test_constants_and_containers_are_arguments():
    class Feed(Component):
        def __init__(self) -> None:
            self.plus = Plus()

        @api
        def call(self, x):
            return self.plus.call({"a": x, "b": 1.0}, (x, 2))

    graph = trace(Feed(), "call")
    x = graph.inputs["x"]
    assert graph.nodes[0].arguments == {"x": {"a": x, "b": 1.0}, "y": (x, 2)}


def test_tracing_leaves_no_trace_on_the_components():
    net = Net()
    trace(net, "forward")
    assert net._mode is None
    assert "forward" not in vars(net)
    assert net.first.call(1.0) == 2.0


def test_tracing_is_undone_after_an_error():
    class Broken(Component):
        def __init__(self) -> None:
            self.add = AddOne()

        @api
        def call(self, x):
            raise ValueError("no")

    broken = Broken()
    with pytest.raises(AssemblyError):
        trace(broken, "call")
    assert broken._mode is broken.add._mode is None
    assert broken.add.call(1.0) == 2.0


# -- what records refuse --------------------------------------------------------------------------
class Body(Component):
    """Runs a Python function on the records of its API method."""

    def __init__(self, function) -> None:
        self.function = function

    @api
    def call(self, x, y):
        return self.function(x, y)


def refusal(function) -> str:
    with pytest.raises(AssemblyError) as error:
        trace(Body(function), "call")
    return str(error.value)


WAY_OUT = (
    " on a record: API methods only connect calls, their records have no value yet. Put numerical "
    "code "
    "into a method marked @graph_fn; use self.cond for branches, self.scan for loops."
)


@pytest.mark.parametrize(
    ("what", "function"),
    [
        ("`add`", lambda x, y: x + y),
        ("`radd`", lambda x, y: 1 + y),
        ("`sub`", lambda x, y: x - y),
        ("`rsub`", lambda x, y: 1 - y),
        ("`mul`", lambda x, y: x * 2),
        ("`rmul`", lambda x, y: 2 * x),
        ("`truediv`", lambda x, y: x / y),
        ("`rtruediv`", lambda x, y: 1 / y),
        ("`floordiv`", lambda x, y: x // y),
        ("`mod`", lambda x, y: x % 2),
        ("`rmod`", lambda x, y: 2 % x),
        ("`pow`", lambda x, y: x**2),
        ("`rpow`", lambda x, y: 2**x),
        ("`matmul`", lambda x, y: x @ y),
        ("`neg`", lambda x, y: -x),
        ("`abs`", lambda x, y: abs(x)),
        ("`lt`", lambda x, y: x < y),
        ("`ge`", lambda x, y: x >= 0),
        ("`eq`", lambda x, y: x == y),
        ("`ne`", lambda x, y: x != 0),
        ("`and`", lambda x, y: x & y),
        ("`invert`", lambda x, y: ~x),
        ("`len`", lambda x, y: len(x)),
        ("`float`", lambda x, y: float(x)),
        ("`int`", lambda x, y: int(x)),
        ("`if`, `and`, `or` or `not`", lambda x, y: x if x else y),
        ("`if`, `and`, `or` or `not`", lambda x, y: x and y),
        ("`if`, `and`, `or` or `not`", lambda x, y: not x),
        ("unpacking or iterating", lambda x, y: [*x]),
        ("`contains`", lambda x, y: 1 in x),
        ("indexing with slice(None, 2, None)", lambda x, y: x[:2]),
        ("indexing with (0, 1)", lambda x, y: x[0, 1]),
    ],
)
def test_records_refuse_python_and_say_the_way_out(what, function):
    assert refusal(function).removeprefix("body.call: ") == f"{what}{WAY_OUT}"


def test_a_refusal_names_component_and_api():
    assert refusal(lambda x, y: x + y) == f"body.call: `add`{WAY_OUT}"


def test_records_refuse_attributes_of_tensors():
    assert refusal(lambda x, y: x.shape) == f"body.call: `.shape`{WAY_OUT}"


def test_indexing_with_a_record_is_refused():
    assert "indexing with <record y of no space yet> on a record" in refusal(lambda x, y: x[y])


# -- what assembly refuses ------------------------------------------------------------------------
class Caller(Component):
    def __init__(self, child: Component, function) -> None:
        self.child = child
        self.function = function

    @api
    def call(self, x):
        return self.function(self, x)


def message(child: Component, function) -> str:
    with pytest.raises(AssemblyError) as error:
        trace(Caller(child, function), "call")
    return str(error.value)


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda self, x: self.child.call(), "misses the argument `x`"),
        (lambda self, x: self.child.call(x), "misses the argument `y`"),
        (lambda self, x: self.child.call(x, x, x), "got 3 arguments"),
        (lambda self, x: self.child.call(x, x=x), "got `x` twice"),
        (lambda self, x: self.child.call(x, z=x), "has no argument `z`"),
    ],
)
def test_a_wrong_number_of_arguments_shows_the_signature(function, what):
    assert message(Plus(), function) == (
        f"caller/child.call: the call {what}. Call it as call(x, y)."
    )


def test_an_unknown_api_names_the_close_one():
    assert message(AddOne(), lambda self, x: self.child.cal(x)) == (
        "caller/child: AddOne has no API method or attribute 'cal'. Did you mean 'call'? API: call."
    )


def test_an_unknown_api_of_a_graph_function_is_named_too():
    class Misspelt(Component):
        @api
        @graph_fn
        def call(self, x: Tensor) -> Tensor:
            return self.opps.abs(x)

    with pytest.raises(UnknownAPIError, match="misspelt: Misspelt has no API method or attribute"):
        ComponentTest(Misspelt(), {"x": "float"})


def test_an_attribute_that_is_missing_elsewhere_is_not_an_unknown_api():
    assert message(AddOne(), lambda self, x: (1).real.missing).startswith(
        "caller.call: AttributeError while its calls were traced: 'int' object has no attribute"
    )


def test_a_graph_function_of_another_component_is_refused():
    class Private(Component):
        @graph_fn
        def inner(self, x: Tensor) -> Tensor: ...

        @api
        def outer(self, x):
            return self.inner(x)

    assert message(Private(), lambda self, x: self.child.inner(x)) == (
        "caller/child.inner: caller calls it, but it is a graph function of another component. "
        "Components talk through API methods: mark it @api, or call one of outer."
    )


def test_a_static_argument_refuses_records():
    class Takes(Component):
        @api
        @graph_fn
        def call(self, x: Tensor, k: Static[int]) -> Tensor: ...

    assert message(Takes(), lambda self, x: self.child.call(x, x)) == (
        "caller/child.call: `k` is static, its value must be known when the plan is made, but the "
        "call "
        "passes a record. Pass a Python value, or annotate it Tensor."
    )


class Keeper(Component):
    def __init__(self) -> None:
        self.add = AddOne()
        self.kept = None

    @api
    def keep(self, x):
        self.kept = x
        return x

    @api
    def use(self, x):
        return self.add.call(self.kept)

    @api
    def give(self, x):
        return self.kept


def test_a_record_kept_from_another_trace_is_refused():
    keeper = Keeper()
    trace(keeper, "keep")
    with pytest.raises(AssemblyError) as error:
        trace(keeper, "use")
    assert str(error.value) == (
        "keeper/add.call: `x` is a record of keeper.keep, another trace. Hand it in as an argument "
        "instead of keeping it on the component."
    )


def test_a_record_kept_from_another_trace_is_not_returned_either():
    keeper = Keeper()
    trace(keeper, "keep")
    with pytest.raises(
        AssemblyError, match=r"keeper\.give: .* record of keeper\.keep, another trace"
    ):
        trace(keeper, "give")


def test_exceptions_in_api_methods_are_wrapped_with_the_path():
    def fail(self, x):
        raise KeyError("q")

    assert message(AddOne(), fail) == (
        "caller.call: KeyError while its calls were traced: 'q'. An API method only connects calls "
        "of "
        "API methods and of its own graph functions."
    )


def test_the_cause_of_a_wrapped_exception_is_kept():
    with pytest.raises(AssemblyError) as error:
        trace(Caller(AddOne(), lambda self, x: 1 / 0), "call")
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_an_exception_is_wrapped_once_by_the_innermost_method():
    inner = Caller(AddOne(), lambda self, x: 1 / 0)
    outer = Caller(inner, lambda self, x: self.child.call(x))
    with pytest.raises(AssemblyError, match=r"^caller/child\.call: ZeroDivisionError"):
        trace(outer, "call")


def test_scan_and_variables_outside_of_api_methods_are_refused():
    with pytest.raises(AssemblyError) as error:
        AddOne().scan(None, 0.0, None)
    assert str(error.value) == (
        "add-one: `scan` works inside API methods while a graph is assembled or run. Build the "
        "component (ComponentTest or an executor) and call its API there."
    )


def test_the_body_of_a_region_is_an_api_method():
    assert message(AddOne(), lambda self, x: self.scan(len, 0.0, x)) == (
        "caller: len is the body of a scan or cond, but no API method. Pass a method marked @api, "
        "such "
        "as self.step."
    )


def test_lists_of_records_connect_like_tuples():
    class Feed(Component):
        def __init__(self) -> None:
            self.add = AddOne()

        @api
        def call(self, x):
            return [self.add.call([x, x]), x]

    graph = trace(Feed(), "call")
    x = graph.inputs["x"]
    assert graph.nodes[0].arguments == {"x": (x, x)}
    assert graph.outputs == (graph.nodes[0].outputs[0], x)


def test_assembly_needs_no_backend():
    graph = trace(Net(), "forward")
    assert all(isinstance(node, Call) for node in graph.nodes)
    assert all(record.space is None for node in graph.nodes for record in node.outputs)
