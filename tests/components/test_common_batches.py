"""Batches taken apart, sampled, and learned from several times in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.errors import BuildError, ComponentError, ExecutionError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.common.batch_splitter import BatchSplitter
from rlg.graph.components.common.iterative_optimization import IterativeOptimization
from rlg.graph.components.common.sampler import Sampler
from rlg.graph.components.layers.dense import Dense
from rlg.graph.components.optimizers.sgd import SGD
from rlg.graph.core.component.randomness import Stream
from rlg.graph.spaces import Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest

FRAMEWORKS = pytest.mark.parametrize("backend", ["torch", "tf", "tf-graph"])
NESTED = Dict(a=FloatBox(), b=Dict(c=Box((2,), "int64")))


def nested(n):
    return {
        "a": np.arange(n, dtype="float32"),
        "b": {"c": np.stack([np.arange(n), -np.arange(n)], 1)},
    }


# -- splitter -------------------------------------------------------------------------------------
def test_a_batch_splitter_gives_equal_parts_in_order(backend):
    test = ComponentTest(BatchSplitter(3), {"inputs": NESTED}, backend)
    parts = test.call("call", nested(6))
    assert [part["a"].tolist() for part in parts] == [[0, 1], [2, 3], [4, 5]]
    assert parts[2]["b"]["c"].tolist() == [[4, -4], [5, -5]]
    with pytest.raises(ExecutionError, match=r"can't be divided into 3 .* a multiple of 3"):
        test.call("call", nested(8))


def test_a_batch_splitter_keeps_time_and_may_have_one_part(backend):
    test = ComponentTest(BatchSplitter(2), {"inputs": FloatBox(ranks="BT")}, backend)
    first, second = test.call("call", np.arange(12.0).reshape(4, 3))
    assert first.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert second.shape == (2, 3)
    test = ComponentTest(BatchSplitter(1), {"inputs": FloatBox()}, backend)
    test.test("call", [1.0, 2.0], expected=[1.0, 2.0])


def test_parts_are_batches_for_what_follows(backend):
    class Towers(Component):
        def __init__(self) -> None:
            self.splitter = BatchSplitter(2)
            self.layer = Dense(1, kernel_init={"type": "constant", "value": 1.0})

        @api
        def call(self, inputs: Any) -> Any:
            first, second = self.splitter.call(inputs)
            return self.layer.call(first), self.layer.call(second)

    test = ComponentTest(Towers(), {"inputs": Box((2,))}, backend)
    test.test("call", [[1.0, 2.0], [3.0, 4.0]], expected=([[3.0]], [[7.0]]))


# -- sampler --------------------------------------------------------------------------------------
def test_samples_are_rows_of_the_batch(backend):
    test = ComponentTest(Sampler(), {"records": NESTED}, backend)
    records, rows = test.call("sample", nested(5), n=200)
    assert set(rows.tolist()) == {0, 1, 2, 3, 4}
    np.testing.assert_array_equal(records["a"], rows)
    np.testing.assert_array_equal(records["b"]["c"], np.stack([rows, -rows], 1))
    counts = np.bincount(rows, minlength=5)
    assert counts.min() > 20  # 40 expected, with a standard deviation of 5.7.
    assert test.call("sample", nested(5), n=3)[1].shape == (3,)


# -- iterative optimization -----------------------------------------------------------------------
class Census(Component):
    """Writes down which records it saw, in which order; gives their sum and count."""

    def create_variables(self) -> None:
        self._log = self.variable("log", (64,), dtype="int64", value=-1)
        self._place = self.variable("place", dtype="int64")

    @api
    @graph_fn
    def update_from(self, records: Tensor) -> Tensor:
        ops = self.ops
        ids = records["id"]
        n = ops.cast(ops.batch_size(ids), "int64")
        ops.scatter_rows(self._log, self._place + ops.arange(ops.batch_size(ids)), ids)
        ops.assign(self._place, self._place + n)
        return {"sum": ops.sum(records["x"]), "count": ops.cast(n, "float32")}


def census(n_epochs, batch_size, backend, ranks="B", **options):
    component = IterativeOptimization(Census(), n_epochs, batch_size)
    records = Dict(id=IntBox(64, ranks=ranks), x=FloatBox(ranks=ranks))
    return ComponentTest(component, {"records": records}, backend, apis=["update"], **options)


def people(*shape):
    ids = np.arange(np.prod(shape)).reshape(shape)
    return {"id": ids, "x": ids.astype("float32")}


def seen(test):
    log = test.read("learner/log")
    return log[: int(test.read("learner/place"))]


def test_each_epoch_is_another_permutation_of_all_records(backend):
    test = census(3, 4, backend)
    means = test.call("update", people(12))
    epochs = seen(test).reshape(3, 12)
    assert [sorted(epoch) for epoch in epochs.tolist()] == [list(range(12))] * 3
    assert len({tuple(epoch) for epoch in epochs.tolist()}) == 3
    np.testing.assert_allclose(means["sum"], 66.0 / 3, rtol=1e-6)
    assert means["count"] == 4.0


def test_backends_shuffle_alike():
    logs = []
    for backend in ("numpy", "torch", "tf", "tf-graph"):
        test = census(2, 3, backend)
        test.call("update", people(7))
        test.call("update", people(9))
        logs.append(seen(test).tolist())
    assert logs[0] == logs[1] == logs[2] == logs[3]
    assert len(logs[0]) == 2 * 6 + 2 * 9


def test_permutations_are_uniform():
    test = census(1, 2, "numpy")
    firsts = []
    for _ in range(600):
        test.write({"learner/place": 0})
        test.call("update", people(6))
        firsts.append(seen(test)[:2])
    firsts = np.array(firsts)
    for place in (0, 1):  # 100 of each expected, with a standard deviation of 9.1.
        counts = np.bincount(firsts[:, place], minlength=6)
        assert counts.min() > 60
        assert counts.max() < 140


def test_what_is_left_over_is_left_out_of_its_epoch(backend):
    test = census(2, 3, backend)
    test.call("update", people(7))
    for epoch in seen(test).reshape(2, 6).tolist():
        assert len(set(epoch)) == 6


def test_a_small_batch_fills_one_minibatch_by_repetition(backend):
    test = census(1, 5, backend)
    test.call("update", people(2))
    counts = sorted(np.bincount(seen(test), minlength=2).tolist())
    assert counts == [2, 3]


@pytest.mark.parametrize("ranks", ["TB", "BT"])
def test_steps_of_time_are_records_of_their_own(ranks, backend):
    test = census(1, 2, backend, ranks)
    test.call("update", people(3, 2))
    assert sorted(seen(test).tolist()) == [0, 1, 2, 3, 4, 5]


def test_define_by_run_shuffles_alike():
    one, two = census(2, 2, "numpy"), census(2, 2, "numpy", define_by_run=True)
    for test in (one, two):
        test.call("update", people(5))
    assert seen(one).tolist() == seen(two).tolist()


class Line(Component):
    """Fits targets by w * inputs; says which weight it started from."""

    def create_variables(self) -> None:
        self._w = self.variable("w", trainable=True)

    @api
    @graph_fn
    def loss(self, records: Tensor) -> tuple[Tensor, Tensor]:
        ops = self.ops
        loss = ops.mean(ops.square(self._w * records["x"] - records["y"]))
        return loss, ops.value_of(self._w)


class Fit(Component):
    def __init__(self) -> None:
        self.line = Line()
        self.optimizer = SGD(0.1)

    @api
    def update_from(self, records: Any, learning_rate: Any = None) -> Any:
        loss, w = self.line.loss(records)
        self.optimizer.step(loss, self.line.variables(), learning_rate)
        return loss, w


POINTS = {
    "x": np.array([1.0, 2.0, 3.0, -1.0], "float32"),
    "y": np.array([2.0, 4.0, 6.0, -2.0], "float32"),
}
FIT = {"records": Dict(x=FloatBox(), y=FloatBox()), "learning_rate": FloatBox(ranks="")}


@FRAMEWORKS
def test_updates_follow_each_other_and_their_outputs_are_averaged(backend):
    test = ComponentTest(IterativeOptimization(Fit(), 2, 4), FIT, backend, apis=["update"])
    # Whole batches: w <- w - 0.1 * 2 * mean(x^2) (w - 2) = w - 0.75 (w - 2), twice.
    loss, w = test.call("update", POINTS)
    np.testing.assert_allclose(test.read("learner/line/w"), 1.875, rtol=1e-5)
    np.testing.assert_allclose(loss, (3.75 * 4.0 + 3.75 * 0.25) / 2, rtol=1e-5)
    np.testing.assert_allclose(w, (0.0 + 1.5) / 2, rtol=1e-5)


@FRAMEWORKS
def test_a_learning_rate_reaches_the_learner(backend):
    test = ComponentTest(IterativeOptimization(Fit(), 1, 4), FIT, backend, apis=["update"])
    test.call("update", POINTS, 0.02)
    np.testing.assert_allclose(test.read("learner/line/w"), 0.3, rtol=1e-5)


@FRAMEWORKS
def test_many_minibatches_learn(backend):
    test = ComponentTest(IterativeOptimization(Fit(), 10, 2), FIT, backend, apis=["update"])
    test.call("update", POINTS, 0.05)
    np.testing.assert_allclose(test.read("learner/line/w"), 2.0, rtol=1e-2)


# -- errors ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("component", "spaces", "message"),
    [
        (BatchSplitter(2), {"inputs": FloatBox(ranks="TB")}, "`inputs` is .*no leading batch"),
        (BatchSplitter(2), {"inputs": Dict(a=Box(ranks=""))}, "`inputs/a` is .*ranks='BT'"),
        (Sampler(), {"records": Dict(a=FloatBox(ranks="TB"))}, "`records/a` is .*ranks='B'"),
    ],
)
def test_inputs_without_a_batch_are_refused(component, spaces, message):
    with pytest.raises(SpaceError, match=message):
        ComponentTest(component, spaces)


def test_records_have_equal_ranks():
    records = Dict(id=IntBox(64), x=FloatBox(ranks="TB"))
    component = IterativeOptimization(Census(), 1, 2)
    with pytest.raises(SpaceError, match="Give all leaves the same ranks"):
        ComponentTest(component, {"records": records}, apis=["update"])


def test_counts_are_positive():
    with pytest.raises(ComponentError, match="num_parts must be at least 1, got 0"):
        BatchSplitter(0)
    with pytest.raises(ComponentError, match="n_epochs is 0 and batch_size 64"):
        IterativeOptimization(Census(), 0)


@pytest.mark.parametrize("backend", ["tf", "tf-graph"])
def test_a_draw_behind_a_part_of_a_batch_is_refused_where_it_would_have_another_size(backend):
    class Noisy(Component):
        @api
        @graph_fn
        def call(self, inputs: Tensor) -> Tensor:
            return inputs + self.ops.random_uniform((self.ops.batch_size(inputs),))

    class Halves(Component):
        def __init__(self) -> None:
            self.splitter = BatchSplitter(2)
            self.noisy = Noisy()

        @api
        def call(self, inputs: Any) -> Any:
            first, _ = self.splitter.call(inputs)
            return self.noisy.call(first)

    with pytest.raises(BuildError, match=r"changes the size of the batch\. Draw before that"):
        ComponentTest(Halves(), {"inputs": FloatBox()}, backend).call("call", np.zeros(4, "f4"))
    assert ComponentTest(Halves(), {"inputs": FloatBox()}, "torch").call(
        "call", np.zeros(4, "f4")
    ).shape == (2,)


class Sampled(Component):
    """A learner whose updates draw, as an entropy by samples does."""

    @api
    @graph_fn
    def update_from(self, records: Tensor) -> Tensor:
        return self.ops.mean(
            records["a"] + self.ops.random_uniform(self.ops.shape_of(records["a"]))
        )


@pytest.mark.parametrize("ranks", ["B", "TB"])
def test_updates_may_draw(ranks, backend):
    records = Dict(a=FloatBox(ranks=ranks))
    values = {"a": np.zeros((2, 5) if ranks == "TB" else (10,), "float32")}
    found = []
    for name in ("numpy", backend):
        learner = IterativeOptimization(Sampled(), n_epochs=3, batch_size=4)
        test = ComponentTest(learner, {"records": records}, name, apis=["update"])
        found.append([float(test.call("update", values)) for _ in range(2)])
    # 3 epochs of 2 minibatches of 4 numbers each, for each call.
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
    numbers = Stream(0, "iterative-optimization/learner").uniform((2, 6, 4))
    np.testing.assert_allclose(found[1], numbers.mean((1, 2)), atol=1e-6)
