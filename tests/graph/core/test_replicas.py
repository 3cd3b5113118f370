"""Replicas in the graph: the plan of one is that of the call, and what their bodies may not do."""

from __future__ import annotations

from typing import Any

import pytest

from rlg.errors import AssemblyError, BuildError
from rlg.graph import Component, Tensor, api, graph_fn, host_fn
from rlg.graph.core.assembly.records import Replicate, all_nodes
from rlg.graph.spaces import Box, Dict, FloatBox
from rlg.testing import ComponentTest
from tests.graph.core.parts import AddOne, Counter, Noise, Plus


class Whole(Component):
    """Calls or replicates `body`; a test says what that does."""

    def __init__(self, body: Any, replicated: bool = True) -> None:
        self.function = body
        self.replicated = replicated
        self.parts = {"plus": Plus(), "add": AddOne(), "noise": Noise(), "counter": Counter()}
        self.parts["declared"] = Declared()
        for part in self.parts.values():
            part.must_be_complete = False

    @api
    def call(self, x: Any) -> Any:
        return self.replicate(self.body, x) if self.replicated else self.body(x)

    @api
    def body(self, x: Any) -> Any:
        return self.function(self, x)

    @api
    def other(self, x: Any) -> Any:
        return self.replicate(self.body, x)

    @graph_fn
    def mean(self, x: Tensor) -> Tensor:
        return self.ops.mean(x)

    @graph_fn
    def count(self, x: Tensor) -> Tensor:
        return self.ops.cast(self.ops.sum(x), "int64")

    @api(fold_time=True)
    def folded(self, x: Any) -> Any:
        return self.parts["noise"].call(x)

    def _same(self, x: Any) -> Any:
        return x

    @host_fn(spaces=_same)
    def outside(self, x: Any) -> Tensor:
        return x


class Declared(Component):
    """Functions whose outputs are declared, so that the build never runs them."""

    def create_variables(self) -> None:
        self.total = self.variable("total")

    def _same(self, x: Any) -> Any:
        return x

    @api
    @graph_fn(spaces=_same)
    def write(self, x: Tensor) -> Tensor:
        self.ops.assign(self.total, self.ops.sum(x))
        return x

    @api
    @graph_fn(spaces=_same)
    def draw(self, x: Tensor) -> Tensor:
        return x + self.ops.random_normal(self.ops.shape_of(x))

    @api
    @graph_fn(spaces=_same)
    def plain(self, x: Tensor) -> Tensor:
        return x + 1.0

    @api
    @graph_fn(spaces=_same)
    def picky(self, x: Tensor) -> Tensor:
        assert self.ops.batch_size(x) > 5, "zeros won't do"
        return x + 1.0


def whole(body: Any, replicas: int = 2, space: Any = None, **options: Any) -> ComponentTest:
    component = Whole(body, options.pop("replicated", True))
    spaces = {"x": space or FloatBox()}
    return ComponentTest(component, spaces, apis=["call"], replicas=replicas, **options)


def summed(self: Any, x: Any) -> Any:
    self.summary("x", x)
    y = self.parts["plus"].call(x, self.parts["add"].call(x))
    return y, self.mean(y)


# -- plans ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
@pytest.mark.parametrize("summaries", [False, True])
def test_the_plan_of_one_replica_is_that_of_the_call(backend, summaries):
    def source(**options: Any) -> str:
        test = whole(summed, backend=backend, summaries=summaries, **options)
        return test.executor.plan("call").source

    called = source(replicated=False)
    assert source(replicas=1) == called
    assert source(replicas=2) != called
    nodes = whole(summed, replicas=1).executor.builder.graphs[0].nodes
    assert not any(isinstance(node, Replicate) for node in nodes)


def test_replicas_are_a_nested_function_of_the_plan():
    executor = whole(summed).executor
    lines = executor.plan("call").source.splitlines()
    assert [line.split("  #")[0].rstrip() for line in lines] == [
        "def call(x):",
        "    def replica_t0(x):",
        "        t1 = parts_add(x[0])",
        "        t2 = parts_plus(x[0], t1)",
        "        t3 = whole(t2)",
        "        return (t2, t3, )",
        "    t0 = replicate(replica_t0, (x, ), layout)",
        "    return (t0[0], t0[1], )",
    ]
    assert lines[6].endswith("# whole.body")


def test_the_body_is_built_once_and_its_outputs_have_their_spaces():
    executor = whole(summed, replicas=4).executor
    (graph,) = executor.builder.graphs
    assert [type(node).__name__ for node in graph.nodes] == ["Replicate"]
    assert len(list(all_nodes(graph))) == 4
    rows, mean = executor.output_space("call")
    assert (rows, mean) == (FloatBox(), FloatBox(ranks=""))


def test_summaries_in_a_body_are_those_of_one_replica_only():
    x = [1.0, 2.0]
    for replicas, expected in ((1, ["whole/x"]), (2, [])):
        executor = whole(summed, replicas, summaries=True).executor
        executor.execute("call", x)
        assert list(executor.summaries) == expected


# -- what is refused ------------------------------------------------------------------------------
def refusal(body: Any, space: Any = None, error: Any = BuildError, **options: Any) -> str:
    with pytest.raises(error) as caught:
        whole(body, space=space, **options)
    return str(caught.value)


BECAUSE = (
    ", but it is called in whole.body, which replicas run on parts of the batch at the same time. "
    "Call it outside of the replicated method, or set replicas=1."
)


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf", "tf-graph"])
def test_writes_and_draws_are_refused(backend):
    def write(self: Any, x: Any) -> Any:
        self.parts["counter"].up(self.count(x))
        return x

    def draw(self: Any, x: Any) -> Any:
        return self.parts["noise"].call(x)

    assert refusal(write, backend=backend) == (
        f"whole/parts-counter.up: it writes variables{BECAUSE}"
    )
    assert refusal(draw, backend=backend) == (
        f"whole/parts-noise.call: it draws random numbers{BECAUSE}"
    )
    for body in (write, draw):
        whole(body, replicas=1, backend=backend)


def test_writes_and_draws_are_refused_where_outputs_are_declared():
    refused = {"write": "writes variables", "draw": "draws random numbers"}
    for name, deed in refused.items():
        message = refusal(lambda self, x, name=name: getattr(self.parts["declared"], name)(x))
        assert message == f"whole/parts-declared.{name}: it {deed}{BECAUSE}"
    for name in ("plain", "picky"):
        whole(lambda self, x, name=name: getattr(self.parts["declared"], name)(x))


def test_draws_are_refused_in_regions_and_folded_methods_of_a_body():
    class Deep(Component):
        def __init__(self) -> None:
            self.noise = Noise()

        @api
        def call(self, x: Any) -> Any:
            return self.replicate(self.body, x)

        @api
        def body(self, x: Any) -> Any:
            return self.scan(self.step, 0.0, x)[1]

        @api
        def step(self, carry: Any, x: Any) -> Any:
            return carry, self.noise.call(x)

    because = BECAUSE.replace("whole", "deep")
    with pytest.raises(BuildError) as error:
        ComponentTest(Deep(), {"x": Box(ranks="TB")}, apis=["call"], replicas=2)
    assert str(error.value) == f"deep/noise.call: it draws random numbers{because}"
    message = refusal(lambda self, x: self.folded(x), Box(ranks="TB"))
    assert message == f"whole/parts-noise.call: it draws random numbers{BECAUSE}"


def test_python_outside_of_the_graph_is_refused():
    assert refusal(lambda self, x: self.outside(x)) == (
        f"whole.outside: it calls Python outside of the graph{BECAUSE}"
    )


def test_outputs_that_have_no_mean_are_refused():
    assert refusal(lambda self, x: {"n": self.count(x)}) == (
        "whole.body: it returns Box(shape=(), dtype='int64', ranks=''), without a batch rank. "
        "Replicas average such "
        "outputs, and these are not floats. Return one for each item, or compute it outside of the "
        "replicated method."
    )
    whole(lambda self, x: x, space=Box((), "int64"))


def test_arguments_without_a_batch_are_refused():
    assert refusal(lambda self, x: x, FloatBox(ranks="T")) == (
        "whole.body: replicas get parts of a batch, but none of the arguments has a batch rank: "
        "Box(shape=(), dtype='float32', ranks='T'). Pass one that has, or call the method itself."
    )


def test_arguments_of_which_some_are_folded_are_refused():
    assert refusal(lambda self, x: x["a"], Dict(a=FloatBox(), b=FloatBox(ranks="F"))) == (
        "whole.body: some of the arguments have time folded into the batch and some have not, so "
        "equal parts of them don't belong together. Unfold the former."
    )


def test_replicas_have_no_replicas():
    assert refusal(lambda self, x: self.other(x), error=AssemblyError) == (
        "whole.body: it is replicated inside of whole.body, which is replicated itself. Replicate "
        "one of them."
    )


@pytest.mark.parametrize("replicas", [1, 2])
def test_the_body_is_an_api_method(replicas):
    class Wrong(Component):
        @api
        def call(self, x: Any) -> Any:
            return self.replicate(len, x)

    with pytest.raises(AssemblyError) as error:
        ComponentTest(Wrong(), {"x": FloatBox()}, apis=["call"], replicas=replicas)
    assert str(error.value) == (
        "wrong: len is the body of a replicate, but no API method. Pass a method marked @api, such "
        "as self.step."
    )
