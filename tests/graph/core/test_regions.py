from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.errors import BuildError
from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.core.component.randomness import Stream
from rlg.graph.spaces import Box, Dict
from rlg.testing import ComponentTest
from tests.graph.core.parts import LINE, AddOne, Counter, Noise, Plus

STEPS = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]], "float32")  # [T, B]
FLAG = Box((), "bool", ranks="")
INT = Box((), "int64", ranks="")

both_ways = pytest.mark.parametrize("define_by_run", [False, True])


def run(
    component: Component, spaces: dict[str, Any], *call: Any, define_by_run: bool = False, **kw: Any
) -> Any:
    return ComponentTest(component, spaces, apis=["call"], define_by_run=define_by_run, **kw).call(
        "call", *call
    )


class Loop(Component):
    """Scans `body` over `xs` from `start`."""

    def __init__(self, body: Any) -> None:
        self.body = body
        self.plus = Plus()
        self.plus.must_be_complete = False
        self.noise = Noise()
        self.noise.must_be_complete = False

    @api
    def step(self, carry, x):
        return self.body(self, carry, x)

    @api
    def call(self, start, xs):
        return self.scan(self.step, start, xs)


def cumulative(self, carry, x):
    total = self.plus.call(carry, x)
    return total, total


SPACES = {"start": Box(), "xs": Box(ranks="TB")}
ZEROS = np.zeros(2, "float32")


# -- scan -----------------------------------------------------------------------------------------
@both_ways
def test_scan_gives_cumulative_sums(define_by_run):
    last, sums = run(Loop(cumulative), SPACES, ZEROS, STEPS, define_by_run=define_by_run)
    assert last.tolist() == [6.0, 60.0]
    assert sums.tolist() == [[1.0, 10.0], [3.0, 30.0], [6.0, 60.0]]


@both_ways
@pytest.mark.parametrize("rank", ["T", "B"])
def test_scan_runs_over_any_single_rank(rank, define_by_run):
    spaces = {"start": Box(ranks=""), "xs": Box(ranks=rank)}
    last, sums = run(Loop(cumulative), spaces, 0.5, LINE, define_by_run=define_by_run)
    assert last == 6.5
    assert sums.tolist() == [1.5, 3.5, 6.5]


@both_ways
def test_scan_runs_over_a_fixed_axis(define_by_run):
    spaces = {"start": Box((2,), ranks=""), "xs": Box((3, 2), ranks="")}
    last, sums = run(Loop(cumulative), spaces, ZEROS, STEPS, define_by_run=define_by_run)
    assert last.tolist() == [6.0, 60.0]
    assert sums.shape == (3, 2)


@both_ways
def test_scan_takes_constants_as_carry(define_by_run):
    class Constant(Loop):
        @api
        def call(self, xs):
            return self.scan(self.step, 100.0, xs)

    last, _ = run(Constant(cumulative), {"xs": Box(ranks="T")}, LINE, define_by_run=define_by_run)
    assert last == 106.0
    assert last.dtype == "float32"


@both_ways
@pytest.mark.parametrize("form", ["tuple", "dict"])
def test_scan_carries_trees(form, define_by_run):
    class Trees(Loop):
        @api
        def step(self, carry, x):
            one, two = carry if form == "tuple" else (carry["b"], carry["a"])
            one = self.plus.call(one, x["u"])
            two = self.plus.call(two, one)
            after = (one, two) if form == "tuple" else {"b": one, "a": two}
            return after, {"sum": two, "parts": (x["v"], one)}

        @api
        def call(self, xs):
            start = (0.0, 1.0) if form == "tuple" else {"b": 0.0, "a": 1.0}
            return self.scan(self.step, start, xs)

    spaces = {"xs": Dict(u=Box(ranks="T"), v=Box((), "int64", ranks="T"))}
    xs = {"v": np.array([7, 8, 9]), "u": LINE}
    after, ys = run(Trees(None), spaces, xs, define_by_run=define_by_run)
    assert (after if form == "tuple" else (after["b"], after["a"])) == (6.0, 11.0)
    assert ys["sum"].tolist() == [2.0, 5.0, 11.0]
    assert ys["parts"][0].tolist() == [7, 8, 9]
    assert ys["parts"][1].tolist() == [1.0, 3.0, 6.0]


@both_ways
def test_a_container_record_may_be_the_carry(define_by_run):
    class Swap(Loop):
        @graph_fn
        def turn(self, carry: Tensor, x: Tensor) -> Tensor:
            return {"a": carry["b"], "b": carry["a"] + x}

        @api
        def step(self, carry, x):
            return self.turn(carry, x), carry["a"]

    spaces = {"start": Dict(a=Box(ranks=""), b=Box(ranks="")), "xs": Box(ranks="T")}
    last, ys = run(Swap(None), spaces, {"a": 1.0, "b": 2.0}, LINE, define_by_run=define_by_run)
    assert last == {"a": 4.0, "b": 5.0}
    assert ys.tolist() == [1.0, 2.0, 2.0]


@both_ways
def test_a_scan_may_stack_nothing(define_by_run):
    body = lambda self, carry, x: (self.plus.call(carry, x), None)  # noqa: E731
    last, ys = run(Loop(body), SPACES, ZEROS, STEPS, define_by_run=define_by_run)
    assert last.tolist() == [6.0, 60.0]
    assert ys is None


@both_ways
def test_steps_see_the_state_that_earlier_steps_left(define_by_run):
    class Counts(Component):
        def __init__(self) -> None:
            self.counter = Counter()

        @api
        def step(self, carry, x):
            return carry, self.counter.up(x)

        @api
        def call(self, xs):
            return self.scan(self.step, 0.0, xs)[1]

    component = Counts()
    test = ComponentTest(
        component, {"xs": Box((), "int64", ranks="T")}, apis=["call"], define_by_run=define_by_run
    )
    assert test.call("call", [1, 2, 3]).tolist() == [1, 3, 6]
    assert test.read("counter/count") == 6
    assert test.call("call", [4]).tolist() == [10]


def test_an_unused_scan_that_changes_state_is_kept():
    class Counts(Component):
        def __init__(self) -> None:
            self.counter = Counter()

        @api
        def step(self, carry, x):
            self.counter.up(x)
            return carry, None

        @api
        def call(self, xs):
            self.scan(self.step, 0.0, xs)

    test = ComponentTest(Counts(), {"xs": Box((), "int64", ranks="T")}, apis=["call"])
    assert test.call("call", [1, 2]) is None
    assert test.read("counter/count") == 3


# -- draws ----------------------------------------------------------------------------------------
# Philox keyed by blake2b("0:loop/noise"): the first uniforms.
UNIFORMS = [0.84497309, 0.81717712, 0.65987366, 0.33150828, 0.88469058, 0.70151728]


def noisy(self, carry, x):
    return carry, self.noise.call(x)


@both_ways
def test_draws_in_a_scan_are_made_up_front_with_a_leading_time_axis(define_by_run):
    _, ys = run(
        Loop(noisy), SPACES, ZEROS, np.zeros((3, 2), "float32"), define_by_run=define_by_run
    )
    np.testing.assert_allclose(ys, np.reshape(UNIFORMS, (3, 2)), atol=1e-7)


@both_ways
def test_two_draws_of_a_step_are_drawn_one_after_the_other_for_all_steps(define_by_run):
    body = lambda self, carry, x: (carry, (self.noise.call(x), self.noise.call(x)))  # noqa: E731
    _, (one, two) = run(
        Loop(body), SPACES, ZEROS, np.zeros((3, 1), "float32")[:, :1], define_by_run=define_by_run
    )
    np.testing.assert_allclose(one[:, 0], UNIFORMS[:3], atol=1e-7)
    np.testing.assert_allclose(two[:, 0], UNIFORMS[3:], atol=1e-7)


@both_ways
def test_draws_in_a_scan_go_on_where_the_last_call_stopped(define_by_run):
    test = ComponentTest(Loop(noisy), SPACES, apis=["call"], define_by_run=define_by_run)
    for first in (0, 3):
        _, ys = test.call("call", ZEROS[:1], np.zeros((3, 1), "float32"))
        np.testing.assert_allclose(ys[:, 0], UNIFORMS[first : first + 3], atol=1e-7)


@both_ways
def test_a_split_api_method_may_draw_in_a_scan(define_by_run):
    class Each(Loop):
        @api(split=True)
        def each(self, x):
            return self.noise.call(x)

        @api
        def step(self, carry, x):
            return carry, self.each(x)

    component = Each(None).configure(scope="loop")
    spaces = {"start": Box(ranks=""), "xs": Dict(a=Box(ranks="TB"), b=Box(ranks="TB"))}
    zeros = np.zeros((3, 1), "float32")
    _, ys = run(component, spaces, 0.0, {"a": zeros, "b": zeros}, define_by_run=define_by_run)
    np.testing.assert_allclose(ys["a"][:, 0], UNIFORMS[:3], atol=1e-7)
    np.testing.assert_allclose(ys["b"][:, 0], UNIFORMS[3:], atol=1e-7)


class Passes(Component):
    """Draws in each of `passes` x (n // size) steps: a number that no input has."""

    def __init__(self, size: int = 2, passes: int = 2) -> None:
        self.size, self.passes = size, passes

    def _rows(self, x):
        return Box((self.size,), ranks="T")

    def _count(self, x):
        return {"T": ("product", self.passes, ("quotient", x.ranks, self.size))}

    @graph_fn(spaces=_rows, lengths=_count)
    def parts(self, x: Tensor) -> Tensor:
        ops = self.ops
        count = ops.maximum(
            ops.cast(ops.batch_size(x), "int64") // self.size, ops.constant(1, "int64")
        )
        places = ops.arange(count * self.size) % ops.cast(ops.batch_size(x), "int64")
        return ops.reshape(ops.concat([ops.take_rows(x, places)] * self.passes, 0), (-1, self.size))

    @graph_fn
    def fold(self, x: Tensor) -> Tensor:
        return self.ops.fold_time(x)

    @graph_fn
    def draw(self, x: Tensor) -> Tensor:
        return x + self.ops.random_uniform((self.size,))

    @api
    def step(self, carry, x):
        return carry, self.draw(x)

    @api
    def call(self, x):
        return self.scan(self.step, 0.0, self.parts(x))[1]

    @api
    def timed(self, xs):
        return self.scan(self.step, 0.0, self.parts(self.fold(xs)))[1]


@both_ways
@pytest.mark.parametrize(("n", "steps"), [(4, 4), (5, 4), (1, 2), (2, 2)])
def test_a_loop_of_declared_length_may_draw(n, steps, define_by_run, backend):
    if backend == "tf-graph":
        define_by_run = False
    spaces = {"x": Box(), "xs": Box(ranks="TB")}
    words = {"apis": ["call", "timed"], "define_by_run": define_by_run}
    test = ComponentTest(Passes().configure(scope="loop-noise"), spaces, backend, **words)
    numbers = Stream(0, "loop-noise").uniform((2 * steps, 2))
    found = test.call("call", np.zeros(n, "float32"))
    np.testing.assert_allclose(found, numbers[:steps], atol=1e-7)
    found = test.call("timed", np.zeros((1, n), "float32"))
    np.testing.assert_allclose(found, numbers[steps:], atol=1e-7)


def test_a_length_is_a_size_of_the_inputs_or_it_is_not_known():
    class Lost(Passes):
        @graph_fn(spaces=lambda self, x: Box((2,), ranks="T"), lengths=lambda self, x: {"T": "F"})
        def parts(self, x: Tensor) -> Tensor:
            return self.ops.reshape(x, (-1, 2))

    with pytest.raises(BuildError, match="the length of a scan with random draws is not known"):
        ComponentTest(Lost(), {"x": Box()}, apis=["call"]).call("call", np.zeros(4, "float32"))


@both_ways
def test_an_error_in_a_loop_leaves_no_draws_behind(define_by_run):
    class Picks(Component):
        @api
        @graph_fn
        def call(self, x: Tensor) -> Tensor:
            return self.ops.random_uniform(self.ops.shape_of(x)) + self.ops.cast(
                self.ops.take_rows(self.ops.arange(2), x), "float32"
            )

    class Root(Component):
        def __init__(self) -> None:
            self.noise = Picks()

        @api
        def step(self, carry, x):
            return carry, self.noise.call(x)

        @api
        def loop(self, xs):
            return self.scan(self.step, 0.0, xs)[1]

        @api
        def single(self, x):
            return self.noise.call(x)

    spaces = {"xs": Box((), "int64", ranks="TB"), "x": Box((), "int64")}
    test = ComponentTest(
        Root().configure(scope="loop"), spaces, apis=["loop", "single"], define_by_run=define_by_run
    )
    with pytest.raises(IndexError):
        test.call("loop", [[7], [7]])
    np.testing.assert_allclose(test.call("single", [0]), UNIFORMS[2:3], atol=1e-7)


# -- cond -----------------------------------------------------------------------------------------
class Branch(Component):
    def __init__(self) -> None:
        self.add = AddOne()
        self.noise = Noise()
        self.counter = Counter()

    @api
    def yes(self, x, n):
        self.counter.up(n)
        return self.add.call(x), {"z": x}

    @api
    def no(self, x, n):
        return self.noise.call(x), {"z": self.add.call(x)}

    @api
    def call(self, flag, x, n):
        return self.cond(flag, self.yes, self.no, x, n)


# Philox keyed by blake2b("0:branch/noise"): the second uniform.
SECOND = 0.20655614
COND = {"flag": FLAG, "x": Box(), "n": INT}


@both_ways
def test_cond_runs_the_branch_that_the_predicate_chooses(define_by_run):
    test = ComponentTest(Branch(), COND, apis=["call"], define_by_run=define_by_run)
    test.test("call", True, LINE, 5, expected=([2.0, 3.0, 4.0], {"z": [1.0, 2.0, 3.0]}))
    assert test.read("counter/count") == 5
    _, rest = test.call("call", False, LINE, 5)
    assert rest["z"].tolist() == [2.0, 3.0, 4.0]
    assert test.read("counter/count") == 5


@both_ways
def test_both_branches_draw_whichever_is_taken(define_by_run):
    test = ComponentTest(Branch(), COND, apis=["call"], define_by_run=define_by_run)
    stream = test.executor.builder.binding.streams["branch/noise"]
    zero = np.zeros(1, "float32")
    test.call("call", True, zero, 0)
    state = stream.state
    assert state[:4] != [0, 0, 0, 0]
    value, _ = test.call("call", False, zero, 0)
    np.testing.assert_allclose(value, [SECOND], atol=1e-7)


@both_ways
def test_branches_may_return_nothing(define_by_run):
    class Maybe(Component):
        def __init__(self) -> None:
            self.counter = Counter()

        @api
        def yes(self, n):
            self.counter.up(n)

        @api
        def no(self, n):
            pass

        @api
        def call(self, flag, n):
            self.cond(flag, self.yes, self.no, n)

    test = ComponentTest(
        Maybe(), {"flag": FLAG, "n": INT}, apis=["call"], define_by_run=define_by_run
    )
    assert [test.call("call", flag, 3) for flag in (False, True, False)] == [None] * 3
    assert test.read("counter/count") == 3


# -- regions in regions ---------------------------------------------------------------------------
class Nested(Component):
    """Sums over time, or leaves zeros; the loop draws if it is told to."""

    def __init__(self) -> None:
        self.plus = Plus()
        self.noise = Noise()

    @api
    def step(self, carry, x):
        total = self.plus.call(carry, self.noise.call(x))
        return total, total

    @api
    def loop(self, xs):
        return self.scan(self.step, 0.0, xs)

    @graph_fn
    def zero(self, xs: Tensor) -> Tensor:
        return self.ops.sum(xs) * 0.0

    @api
    def still(self, xs):
        return self.zero(xs), xs

    @api
    def call(self, flag, xs):
        return self.cond(flag, self.loop, self.still, xs)


NESTED = {"flag": FLAG, "xs": Box(ranks="T")}


def test_a_scan_in_a_cond_draws_as_if_it_were_alone():
    test = ComponentTest(Nested(), NESTED, apis=["call"])
    alone = ComponentTest(Nested(), NESTED, apis=["loop", "call"])
    last, sums = test.call("call", True, LINE)
    expected, all_sums = alone.call("loop", LINE)
    np.testing.assert_array_equal(sums, all_sums)
    assert last == expected
    still, same = test.call("call", False, LINE)
    assert still == 0.0
    assert same.tolist() == [1.0, 2.0, 3.0]


def test_nested_draws_are_the_same_in_define_by_run():
    plan, direct = (
        ComponentTest(Nested(), NESTED, apis=["call"], define_by_run=d).call("call", True, LINE)
        for d in (False, True)
    )
    np.testing.assert_array_equal(plan[1], direct[1])


@both_ways
def test_a_cond_in_a_scan_chooses_anew_at_each_step(define_by_run):
    class Choose(Component):
        def __init__(self) -> None:
            self.plus = Plus()

        @api
        def up(self, carry, x):
            return self.plus.call(carry, x["v"])

        @api
        def stay(self, carry, x):
            return carry

        @api
        def step(self, carry, x):
            carry = self.cond(x["go"], self.up, self.stay, carry, x)
            return carry, carry

        @api
        def call(self, start, xs):
            return self.scan(self.step, start, xs)[1]

    spaces = {
        "start": Box(ranks=""),
        "xs": Dict(go=Box((), "bool", ranks="T"), v=Box(ranks="T")),
    }
    xs = {"go": np.array([True, False, True]), "v": LINE}
    assert run(Choose(), spaces, 10.0, xs, define_by_run=define_by_run).tolist() == [
        11.0,
        11.0,
        14.0,
    ]


@both_ways
def test_a_scan_in_a_scan(define_by_run):
    class Grid(Component):
        def __init__(self) -> None:
            self.plus = Plus()

        @api
        def inner(self, carry, x):
            total = self.plus.call(carry, x)
            return total, total

        @api
        def outer(self, carry, x):
            total, sums = self.scan(self.inner, carry, x)
            return total, sums

        @api
        def call(self, start, xs):
            return self.scan(self.outer, start, xs)

    spaces = {"start": Box(ranks=""), "xs": Box((2, 3), ranks="")}
    xs = np.arange(6, dtype="float32").reshape(2, 3)
    last, sums = run(Grid(), spaces, 0.0, xs, define_by_run=define_by_run)
    assert last == 15.0
    assert sums.tolist() == [[0.0, 1.0, 3.0], [6.0, 10.0, 15.0]]


# -- no_gradient ----------------------------------------------------------------------------------
@both_ways
def test_no_gradient_changes_no_values(define_by_run):
    class Cut(Component):
        def __init__(self) -> None:
            self.add = AddOne()

        @api
        def call(self, x, cut: Static[bool] = True):
            if not cut:
                return self.add.call(x)
            with self.no_gradient():
                return self.add.call(x)

    test = ComponentTest(Cut(), {"x": Box()}, define_by_run=define_by_run)
    assert test.call("call", LINE).tolist() == test.call("call", LINE, False).tolist()


def test_no_gradient_reaches_into_regions():
    class Cut(Loop):
        @api
        def call(self, start, xs):
            with self.no_gradient():
                return self.scan(self.step, start, xs)

    test = ComponentTest(Cut(cumulative), SPACES, apis=["call"])
    [graph] = test.executor.builder._graphs.values()
    [scan] = graph.nodes
    assert scan.no_gradient
    assert [node.no_gradient for node in scan.body.nodes] == [True]


def test_summaries_and_unknown_kinds():
    class Says(Component):
        def __init__(self) -> None:
            self.add = AddOne()

        @api
        def call(self, x):
            self.summary("x", x, "histogramm")
            return self.add.call(x)

    with pytest.raises(TypeError) as error:
        ComponentTest(Says(), {"x": Box()})
    assert str(error.value) == (
        "says: summary 'x' is of kind 'histogramm'; use 'scalar' or 'histogram'."
    )
