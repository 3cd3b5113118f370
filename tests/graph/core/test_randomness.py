from __future__ import annotations

import json

import numpy as np
import pytest

from rlg.graph import Component, Size, Static, Tensor, api, graph_fn
from rlg.graph.core.component.randomness import Stream, key_of
from rlg.graph.spaces import Box
from rlg.testing import ComponentTest
from tests.graph.core.parts import LINE

both_ways = pytest.mark.parametrize("define_by_run", [False, True])


# -- streams --------------------------------------------------------------------------------------
def test_the_first_numbers_of_a_stream_are_these():
    uniform = Stream(0, "noise").uniform((3,))
    assert uniform.dtype == "float32"
    np.testing.assert_allclose(uniform, [0.31639373, 0.02155548, 0.58645654], atol=1e-7)
    normal = Stream(0, "noise").normal((3,))
    assert normal.dtype == "float32"
    np.testing.assert_allclose(normal, NORMAL, atol=1e-6)
    wide = Stream(0, "noise").uniform64((2,))
    assert wide.dtype == "float64"
    np.testing.assert_allclose(wide, WIDE, atol=1e-12)


NORMAL = [0.62934071, -0.0438671, 1.01132178]
WIDE = [0.0215555283512, 0.85164689891656]


def test_the_key_is_a_128_bit_number_of_seed_and_path():
    assert key_of(0, "noise") == KEY
    assert key_of(0, "noise") != key_of(1, "noise") != key_of(1, "noise2")
    assert 0 <= key_of(2**80, "a/b") < 2**128


KEY = 186256319064316580024858400096261947939


def test_equal_seeds_and_paths_give_equal_sequences():
    one, two = Stream(7, "a/b"), Stream(7, "a/b")
    for kind in ("uniform", "normal", "uniform64"):
        np.testing.assert_array_equal(one.draw(kind, (5,)), two.draw(kind, (5,)))


@pytest.mark.parametrize("other", [Stream(8, "a"), Stream(7, "b"), Stream(7, "a/")])
def test_neighbours_share_nothing(other):
    one = Stream(7, "a").uniform64((1000,))
    two = other.uniform64((1000,))
    assert not np.intersect1d(one, two).size
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.1


def test_the_state_is_plain_integers_that_bring_the_stream_back():
    stream = Stream(3, "a")
    stream.uniform((5,))
    state = json.loads(json.dumps(stream.state))
    assert len(state) == 13
    assert all(type(number) is int for number in state)
    wanted = [stream.normal((3,)), stream.uniform((3,)), stream.uniform64((3,))]
    other = Stream(99, "z")
    other.uniform64((17,))
    other.state = state
    for array, kind in zip(wanted, ("normal", "uniform", "uniform64"), strict=True):
        np.testing.assert_array_equal(other.draw(kind, (3,)), array)


# -- in components --------------------------------------------------------------------------------
class Explore(Component):
    @api
    @graph_fn
    def act(self, x: Tensor, explore: Static[bool] = True) -> Tensor:
        return x + self.ops.random_uniform(self.ops.shape_of(x)) if explore else x

    @api
    @graph_fn
    def normal(self, n: Size) -> Tensor:
        return self.ops.random_normal((n,))

    @api
    @graph_fn
    def rows(self, n: Size) -> Tensor:
        return self.ops.random_rows((n,), 10)


def built(define_by_run: bool = False, seed: int = 0, scope: str = "noise") -> ComponentTest:
    component = Explore().configure(scope=scope)
    return ComponentTest(component, {"x": Box()}, seed=seed, define_by_run=define_by_run)


@both_ways
def test_a_component_draws_from_the_stream_of_its_path(define_by_run):
    test = built(define_by_run)
    zeros = np.zeros(3, "float32")
    np.testing.assert_allclose(
        test.call("act", zeros), [0.31639373, 0.02155548, 0.58645654], atol=1e-7
    )
    np.testing.assert_allclose(test.call("act", zeros[:1]), [0.85164684], atol=1e-7)


@both_ways
def test_normal_numbers_are_those_of_the_stream(define_by_run):
    np.testing.assert_allclose(built(define_by_run).call("normal", 3), NORMAL, atol=1e-6)


@both_ways
def test_rows_are_float64_uniforms_times_the_number_of_rows(define_by_run):
    rows = built(define_by_run).call("rows", 2)
    assert rows.dtype == "int64"
    assert rows.tolist() == [int(10 * number) for number in WIDE]


@both_ways
def test_acting_without_exploration_consumes_no_numbers(define_by_run):
    test = built(define_by_run)
    stream = test.executor.builder.binding.streams["noise"]
    before = stream.state
    test.call("act", LINE, False)
    assert stream.state == before
    test.call("act", LINE)
    assert stream.state != before


def test_equal_seeds_act_equally_and_others_do_not():
    first = built(seed=1).call("act", LINE)
    np.testing.assert_array_equal(first, built(seed=1).call("act", LINE))
    assert not np.isclose(first, built(seed=2).call("act", LINE)).any()
    assert not np.isclose(first, built(seed=1, scope="other").call("act", LINE)).any()


def test_sibling_components_have_streams_of_their_own():
    class Two(Component):
        def __init__(self) -> None:
            self.one, self.two = Explore(), Explore()

        @api
        def call(self, x):
            return self.one.act(x), self.two.act(x)

    one, two = ComponentTest(Two(), {"x": Box()}).call("call", LINE)
    assert not np.isclose(one, two).any()


@both_ways
def test_state_in_the_middle_brings_back_what_follows(define_by_run):
    test = built(define_by_run)
    test.call("act", LINE)
    state = test.executor.get_state()
    wanted = [test.call("act", LINE), test.call("normal", 3), test.call("rows", 5)]
    test.executor.set_state(state)
    for name, args, array in zip(
        ("act", "normal", "rows"), ([LINE], [3], [5]), wanted, strict=True
    ):
        np.testing.assert_array_equal(test.call(name, *args), array)
