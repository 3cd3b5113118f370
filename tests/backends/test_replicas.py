"""`self.replicate` on every backend: what K replicas return is what one call would."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.errors import BackendError, ExecutionError
from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.spaces import Box, Dict, FloatBox, Tuple
from tests.patience import PATIENCE

WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "numpy": ("numpy", {}),
    "torch": ("torch", {}),
    "tf": ("tf", {}),
    "tf-graph": ("tf-graph", {}),
    "numpy-by-run": ("numpy", {"define_by_run": True}),
    "torch-by-run": ("torch", {"define_by_run": True}),
    "tf-by-run": ("tf", {"define_by_run": True}),
}
ways = pytest.mark.parametrize("way", WAYS)
differentiable = pytest.mark.parametrize("way", [way for way in WAYS if "numpy" not in way])
NUMBER = FloatBox(ranks="")


def floats(*numbers: Any) -> Any:
    return np.array(numbers, "float32")


def built(
    component: Component, spaces: Any, way: str = "torch", replicas: int = 2, **options: Any
) -> GraphExecutor:
    backend, more = WAYS[way]
    executor = make_executor(backend, replicas=replicas, **more, **options)
    executor.build(component, spaces, apis=["call"])
    return executor


class Parts(Component):
    """What replicas see of a batch."""

    @api
    def call(self, x: Any) -> Any:
        return self.replicate(self.body, x)

    @api
    def body(self, x: Any) -> Any:
        return self.doubled(x)

    @graph_fn
    def doubled(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        ops = self.ops
        size = ops.cast(ops.batch_size(x), "float32")
        return 2.0 * x, ops.mean(x), ops.ones_like(x) * size


# -- values ----------------------------------------------------------------------------------------
@ways
@pytest.mark.parametrize(
    ("replicas", "sizes"),
    [(1, [5, 5, 5, 5, 5]), (2, [3, 3, 3, 2, 2]), (3, [2, 2, 2, 2, 1]), (4, [2, 2, 1, 1, 1])],
)
def test_parts_are_even_and_averages_weigh_them(way, replicas, sizes):
    x = floats(1, 2, 3, 4, 90)
    doubled, mean, seen = built(Parts(), {"x": FloatBox()}, way, replicas).execute("call", x)
    assert doubled.tolist() == [2, 4, 6, 8, 180]
    assert seen.tolist() == sizes
    np.testing.assert_allclose(mean, 20.0, rtol=1e-6)
    assert mean.dtype == np.float32


@ways
def test_a_batch_with_fewer_items_than_replicas_has_no_part_without_items(way):
    executor = built(Parts(), {"x": FloatBox()}, way, replicas=4)
    doubled, mean, seen = executor.execute("call", floats(3))
    assert (doubled.tolist(), float(mean), seen.tolist()) == ([6], 3.0, [1])
    doubled, mean, _ = executor.execute("call", floats(3, 5))
    assert (doubled.tolist(), float(mean)) == ([6, 10], 4.0)


@ways
def test_one_graph_takes_batches_of_any_size(way):
    executor = built(Parts(), {"x": FloatBox()}, way)
    for size, expected in ((2, [1, 1]), (5, [3, 3, 3, 2, 2]), (4, [2, 2, 2, 2])):
        x = np.arange(size, dtype="float32")
        doubled, mean, seen = executor.execute("call", x)
        assert doubled.tolist() == (2 * x).tolist()
        assert seen.tolist() == expected
        np.testing.assert_allclose(mean, (size - 1) / 2, rtol=1e-6)


class Nested(Component):
    """Nested arguments and outputs, absent ones, static ones, and some for every replica."""

    @api
    def call(self, tree: Any, pair: Any, rate: Any, extra: Any = None) -> Any:
        return self.replicate(self.body, tree, pair, rate, extra, "plus", [rate, tree["b"]])

    @api
    def body(
        self, tree: Any, pair: Any, rate: Any, extra: Any, word: Static[str], more: Any
    ) -> Any:
        assert word == "plus"
        rows, mean = self.sums(tree, pair, rate, extra, more)
        return {"rows": (rows, None), "mean": mean, "word": word, "pair": pair}

    @graph_fn
    def sums(
        self, tree: Tensor, pair: Tensor, rate: Tensor, extra: Tensor | None, more: Tensor
    ) -> tuple[Tensor, Tensor]:
        ops = self.ops
        rows = tree["a"] + ops.sum(pair[0], -1) + rate
        if extra is not None:
            rows = rows + extra
        return rows, {"b": ops.mean(tree["b"]) * more[0], "t": ops.mean(pair[1], 1)}


NESTED = {
    "tree": Dict(a=FloatBox(), b=FloatBox()),
    "pair": Tuple(Box((2,)), Box(ranks="TB")),
    "rate": NUMBER,
    "extra": FloatBox(),
}


@ways
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_nested_absent_and_whole_arguments(way, replicas):
    executor = built(Nested(), NESTED, way, replicas)
    tree = {"a": floats(1, 2, 3), "b": floats(4, 5, 6)}
    pair = (floats([1, 0], [0, 1], [1, 1]), floats([1, 2, 3], [4, 5, 9]))
    for extra, rows in ((None, [12, 13, 15]), (floats(100, 200, 300), [112, 213, 315])):
        found = executor.execute("call", tree, pair, floats(10)[0], extra)
        assert found["rows"][0].tolist() == rows
        assert found["rows"][1] is None
        assert found["pair"][1].tolist() == pair[1].tolist()
        assert found["pair"][0].tolist() == pair[0].tolist()
        np.testing.assert_allclose(found["mean"]["b"], 50.0, rtol=1e-6)
        np.testing.assert_allclose(found["mean"]["t"], [2, 6], rtol=1e-6)


class Itself(Component):
    @api
    def call(self, x: Any) -> Any:
        return self.replicate(self.body, x)

    @api
    def body(self, x: Any) -> Any:
        return x


@ways
@pytest.mark.parametrize("size", [1, 4])
def test_results_are_the_callers_own(way, size):
    x = np.zeros(size, "float32")
    y = built(Itself(), {"x": FloatBox()}, way).execute("call", x)
    x[:] = 7.0
    assert y.tolist() == [0.0] * size


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_parts_are_views_of_the_batch(backend):
    executor = make_executor(backend, replicas=2)
    x = executor.from_host(np.zeros((5, 3), "float32"))
    for axis, sizes in ((0, [3, 2]), (1, [2, 1])):
        parts = executor.cut(x, sizes, axis)
        assert [part.shape[axis] for part in parts] == sizes
        assert all(executor.shares_memory(part, x) for part in parts)


@pytest.mark.parametrize("way", ["numpy", "torch", "tf-by-run"])
def test_batches_of_different_sizes_are_refused(way):
    class Two(Component):
        @api
        def call(self, x: Any, y: Any) -> Any:
            return self.replicate(self.body, x, y)

        @api
        def body(self, x: Any, y: Any) -> Any:
            return x, y

    executor = built(Two(), {"x": FloatBox(), "y": FloatBox()}, way)
    with pytest.raises(ExecutionError) as error:
        executor.execute("call", floats(1, 2), floats(1, 2, 3))
    assert str(error.value) == (
        "two.body: the arguments that replicas share have batches of different sizes: 2, 3. Pass "
        "equal ones."
    )


# -- gradients -------------------------------------------------------------------------------------
class Slope(Component):
    """The gradient of mean((w x)^2) at w = 3, inside of replicas and outside: 6 mean(x^2)."""

    def create_variables(self) -> None:
        self._w = self.variable("w", value=3.0, trainable=True)
        self._v = self.variable("v", value=2.0, trainable=True)

    @api
    def call(self, x: Any, inside: Static[bool] = True) -> Any:
        if inside:
            return self.replicate(self.differentiate, x)
        loss = self.replicate(self.body, x)
        return self.gradients(loss, self.variables()), loss

    @api
    def differentiate(self, x: Any) -> Any:
        loss = self.body(x)
        return self.gradients(loss, self.variables()), loss

    @api
    def body(self, x: Any) -> Any:
        with self.no_gradient():
            constant = self.times(x)
        return self.loss(x, constant)

    @graph_fn
    def times(self, x: Tensor) -> Tensor:
        return self._v * x

    @graph_fn
    def loss(self, x: Tensor, constant: Tensor) -> Tensor:
        return self.ops.mean(self.ops.square(self._w * x) + constant)

    @graph_fn
    def gradients(self, loss: Tensor, variables: Tensor) -> Tensor:
        return self.ops.gradients(loss, variables)


@differentiable
@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_gradients_of_replicas_are_those_of_the_batch(way, inside, replicas):
    executor = built(Slope(), {"x": FloatBox()}, way, replicas)
    gradients, loss = executor.execute("call", floats(1, 2, 3, 4, 10), inside)
    assert sorted(gradients) == ["v", "w"]
    np.testing.assert_allclose(gradients["w"], 6.0 * 26.0, rtol=1e-6)
    assert float(gradients["v"]) == 0.0
    np.testing.assert_allclose(loss, 9.0 * 26.0 + 2.0 * 4.0, rtol=1e-6)


# -- regions in regions ----------------------------------------------------------------------------
class Loop(Component):
    """Replicas in every step of a loop, or in a branch, and a loop in replicas."""

    @api
    def call(self, xs: Any, order: Static[str] = "outside") -> Any:
        if order == "outside":
            return self.scan(self.step, 0.0, xs)
        if order == "branch":
            return self.cond(self.yes(xs), self.replicated, self.plain, xs)
        return self.replicate(self.run, xs)

    @api
    def step(self, carry: Any, x: Any) -> Any:
        total, rows = self.replicate(self.summed, carry, x)
        return total, rows

    @api
    def run(self, xs: Any) -> Any:
        return self.scan(self.summed, 0.0, xs)

    @api
    def replicated(self, xs: Any) -> Any:
        return self.replicate(self.plain, xs)

    @api
    def plain(self, xs: Any) -> Any:
        return self.doubled(xs)

    @api
    def summed(self, carry: Any, x: Any) -> Any:
        return self.mean(carry, x), self.doubled(x)

    @graph_fn
    def yes(self, xs: Tensor) -> Tensor:
        return self.ops.max(xs) > 0.0

    @graph_fn
    def mean(self, carry: Tensor, x: Tensor) -> Tensor:
        return carry + self.ops.mean(x)

    @graph_fn
    def doubled(self, x: Tensor) -> Tensor:
        return 2.0 * x


@ways
@pytest.mark.parametrize("order", ["outside", "inside", "branch"])
def test_replicas_in_loops_and_branches_and_loops_in_replicas(way, order):
    xs = floats([1, 2, 6], [4, 5, 9])  # [T, B]
    found = built(Loop(), {"xs": Box(ranks="TB")}, way).execute("call", xs, order)
    rows = found if order == "branch" else found[1]
    assert rows.tolist() == (2 * xs).tolist()
    if order != "branch":
        np.testing.assert_allclose(found[0], 9.0, rtol=1e-6)


class Folded(Component):
    """Methods that are split or folded, in replicas and around them."""

    @api
    def call(self, x: Any) -> Any:
        return self.replicate(self.each, x), self.around(x)

    @api
    def each(self, x: Any) -> Any:
        return self.leaf(x), self.row(x)

    @api(split=True)
    def leaf(self, x: Any) -> Any:
        return self.mean(x)

    @api(split=True, fold_time=True)
    def row(self, x: Any) -> Any:
        return self.size(x)

    @api(split=True, fold_time=True)
    def around(self, x: Any) -> Any:
        return self.replicate(self.size_of, x)

    @api
    def size_of(self, x: Any) -> Any:
        return self.size(x)

    @graph_fn
    def mean(self, x: Tensor) -> Tensor:
        return self.ops.mean(x)

    @graph_fn
    def size(self, x: Tensor) -> Tensor:
        return self.ops.ones_like(x) * self.ops.cast(self.ops.batch_size(x), "float32")


@ways
def test_split_and_folded_methods_in_replicas_and_around_them(way):
    space = Dict(a=FloatBox(), b=Box(ranks="BT"))
    x = {"a": floats(1, 2, 6), "b": floats([1, 2], [3, 4], [5, 9])}
    (means, rows), around = built(Folded(), {"x": space}, way).execute("call", x)
    np.testing.assert_allclose([means["a"], means["b"]], [3.0, 4.0], rtol=1e-6)
    assert rows["a"].tolist() == [2, 2, 1]
    assert rows["b"].tolist() == [[4, 4], [4, 4], [2, 2]]
    assert around["a"].tolist() == [2, 2, 1]
    assert around["b"].tolist() == [[3, 3], [3, 3], [3, 3]]


# -- threads of torch ------------------------------------------------------------------------------
class Seen(Component):
    """Runs `look` in each replica, once it is armed."""

    def __init__(self, look: Any, takes_gradients: bool = False) -> None:
        self.look = look
        self.armed: list[Any] = []
        self.takes_gradients = takes_gradients

    def create_variables(self) -> None:
        self._w = self.variable("w", value=1.0, trainable=True)

    @api
    def call(self, x: Any) -> Any:
        return self.replicate(self.body, x)

    @api
    def body(self, x: Any) -> Any:
        y = self.looked(x)
        return self.gradients(y, self.variables()) if self.takes_gradients else y

    @graph_fn
    def looked(self, x: Tensor) -> Tensor:
        if self.armed:
            self.look(x)
        return self._w * self.ops.mean(x)

    @graph_fn
    def gradients(self, y: Tensor, variables: Tensor) -> Tensor:
        return self.ops.gradients(y, variables)


def names() -> list[str]:
    return sorted(t.name for t in threading.enumerate() if t.name.startswith("rlg-replica"))


def look_at(look: Any, replicas: int = 2, **options: Any) -> Any:
    component = Seen(look, options.pop("takes_gradients", False))
    executor = built(component, {"x": FloatBox()}, "torch", replicas, **options)
    component.armed.append(True)
    try:
        return executor.execute("call", np.arange(replicas, dtype="float32"))
    finally:
        executor.close()


@pytest.mark.parametrize("replicas", [2, 3])
def test_replicas_of_torch_run_at_the_same_time(replicas):
    met = threading.Barrier(replicas, timeout=PATIENCE)
    threads: list[str] = []

    def look(x: Any) -> None:
        met.wait()
        threads.append(threading.current_thread().name)

    assert float(look_at(look, replicas)) == (replicas - 1) / 2
    assert len(set(threads)) == replicas
    assert threading.current_thread().name in threads


@pytest.mark.parametrize("takes_gradients", [False, True])
def test_threads_have_the_callers_modes_and_thread_count(takes_gradients):
    import torch

    before = torch.get_num_threads()
    seen: list[Any] = []

    def look(x: Any) -> None:
        modes = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
        seen.append((*modes, torch.get_num_threads()))

    try:
        look_at(look, 3, threads=1, takes_gradients=takes_gradients)
        assert seen == [(not takes_gradients, takes_gradients, 1)] * 3
    finally:
        torch.set_num_threads(before)


def test_replicas_share_torchs_own_number_of_threads():
    import torch

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(5)
        make_executor("torch", replicas=2)
        assert torch.get_num_threads() == 2
        make_executor("torch", replicas=4)
        assert torch.get_num_threads() == 1
        make_executor("torch")
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_threads_start_with_the_first_call_and_end_with_the_executor():
    executor = built(Parts(), {"x": FloatBox()}, "torch", replicas=3)
    before = len(names())
    executor.execute("call", floats(1, 2, 3))
    assert before < len(names()) <= before + 2  # one that is done already is taken again
    executor.close()
    assert len(names()) == before
    assert executor.execute("call", floats(1, 2, 3))[0].tolist() == [2, 4, 6]
    executor.close()
    built(Parts(), {"x": FloatBox()}, "torch", replicas=1).execute("call", floats(1))
    assert len(names()) == before


@pytest.mark.parametrize("replica", [1, 2])
def test_an_error_of_a_replica_says_whose_it_is_and_waits_for_the_others(replica):
    ended: list[int] = []

    def look(x: Any) -> None:
        if int(x[0]) == replica - 1:
            raise ZeroDivisionError("three by none")
        threading.Event().wait(0.2)
        ended.append(replica)

    component = Seen(look)
    executor = built(component, {"x": FloatBox()}, "torch")
    component.armed.append(True)
    with pytest.raises(ExecutionError) as error:
        executor.execute("call", floats(0, 1))
    assert ended == [replica]
    executor.close()
    assert str(error.value) == (
        f"seen.body: replica {replica} of 2 failed: ZeroDivisionError: three by none"
    )
    assert isinstance(error.value.__cause__, ZeroDivisionError)


class Positive(Component):
    @api
    def call(self, x: Any) -> Any:
        return self.replicate(self.body, x)

    @api
    def body(self, x: Any) -> Any:
        return self.checked(x)

    @graph_fn
    def checked(self, x: Tensor) -> Tensor:
        self.ops.require(self.ops.min(x) > 0.0, "these are not positive")
        return x + 1.0


@ways
def test_a_call_after_a_failed_one_works(way):
    executor = built(Positive(), {"x": FloatBox()}, way)
    with pytest.raises(ExecutionError, match="these are not positive"):
        executor.execute("call", floats(1, 2, 3, -4))
    assert executor.execute("call", floats(1, 2, 3, 4)).tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize(("replicas", "between"), [(1, 2), (3, 6)])
def test_tensorflow_has_threads_for_all_replicas(replicas, between, monkeypatch):
    import tensorflow as tf

    counts: list[tuple[str, int]] = []
    for name in ("intra", "inter"):
        setter = f"set_{name}_op_parallelism_threads"
        note = lambda n, name=name: counts.append((name, n))  # noqa: E731
        monkeypatch.setattr(tf.config.threading, setter, note)
    make_executor("tf", threads=2, replicas=replicas)
    assert counts == [("intra", 2), ("inter", between)]


def test_compiled_plans_have_no_replicas():
    with pytest.raises(BackendError) as error:
        make_executor("torch", compile=True, replicas=2)
    assert str(error.value) == (
        "replicas is 2, and compile is on: torch.compile can't look into threads. Set one of "
        "replicas=1 and compile=false."
    )
    make_executor("torch", compile=True)
