"""Results belong to the caller: no later call and no write into an argument changes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Box, Dict, FloatBox, IntBox

ROWS = FloatBox(shape=(4,))


class Shelf(Component):
    """One variable that is read in several ways and counted up."""

    def create_variables(self) -> None:
        self._v = self.variable("v", (2, 3), value=1.0)

    @api
    @graph_fn
    def reshaped(self) -> Tensor:
        return self.ops.reshape(self._v, (6,))

    @api
    @graph_fn
    def row(self) -> Tensor:
        return self._v[1]

    @api
    @graph_fn
    def nested(self) -> Tensor:
        return {"a": self.ops.transpose(self._v, (1, 0)), "b": (self._v[:1],)}

    def _declared(self) -> Box:
        return Box((6,), ranks="")

    @api
    @graph_fn(spaces=_declared)
    def declared(self) -> Tensor:
        return self.ops.reshape(self._v, (6,))

    @api
    def by_argument(self) -> Any:
        return self.first_of(self.variables(None))

    @graph_fn
    def first_of(self, variables: Tensor) -> Tensor:
        return self.ops.reshape(variables["v"], (6,))

    @api
    def in_both_ways(self) -> Any:
        """One graph function on a new value and on the variables themselves."""
        fresh = self.first_of({"v": self.doubled()})
        seen = self.first_of(self.variables(None))
        self.increase()
        return fresh, seen

    @graph_fn
    def doubled(self) -> Tensor:
        return self._v * 2.0

    @api
    @graph_fn
    def increase(self) -> None:
        self.ops.assign_add(self._v, self.ops.ones_like(self._v))

    @api
    def before_and_after(self) -> Any:
        before = self.reshaped()
        seen = self.by_argument()
        self.increase()
        return before, seen, self.reshaped()


class HostShelf(Shelf):
    """The same on numpy arrays inside of any backend's plan."""

    on_host = True


class Behind(Component):
    """A host component in a plan that needs the backend too."""

    def __init__(self) -> None:
        self.shelf = HostShelf()

    def create_variables(self) -> None:
        self._w = self.variable("w", (), value=0.0)

    @api
    def reshaped(self) -> Any:
        return self.shelf.reshaped(), self.note()

    @graph_fn
    def note(self) -> Tensor:
        return self._w + 1.0

    @api
    def increase(self) -> None:
        self.shelf.increase()


class Passing(Component):
    """Results that are made of the caller's arrays."""

    @api
    @graph_fn
    def reshaped(self, x: Tensor) -> Tensor:
        return self.ops.reshape(x, (-1, 2, 2))

    @api
    @graph_fn
    def itself(self, x: Tensor) -> Tensor:
        return x

    def _same(self, x: Any) -> Any:
        return x

    @api
    @graph_fn(spaces=_same)
    def declared(self, x: Tensor) -> Tensor:
        return x

    @api
    def branch(self, x: Any) -> Any:
        return self.cond(self.yes(), self.itself, self.itself, x)

    @graph_fn
    def yes(self) -> Tensor:
        return self.ops.constant(True, "bool")

    @api
    def carried(self, x: Any) -> Any:
        return self.scan(self.step, x, x)[0]

    @api
    def step(self, carry: Any, row: Any) -> Any:
        return carry, row

    @api
    @graph_fn
    def flipped(self, x: Tensor) -> Tensor:
        return self.ops.reshape(self.ops.transpose(x, (1, 0)), (-1, 4))

    @api
    @graph_fn
    def nested(self, pair: Tensor) -> Tensor:
        return {"rows": pair["a"][1:], "number": pair["b"] + 1}

    @api
    @graph_fn
    def picked(self, pair: Tensor) -> tuple[Tensor, Tensor]:
        return self.ops.expand_dims(pair["b"], 1), self.ops.argmax(pair["a"], 1)


class HostPassing(Passing):
    """The same on the host."""

    on_host = True


SPACES = {"x": ROWS, "pair": Dict(a=ROWS, b=IntBox(9))}


def built(root: Component, backend: str, **options: Any) -> GraphExecutor:
    executor = make_executor(backend, **options)
    methods = {name: m for name, m in root.api_methods().items() if name != "step"}
    known = {p.name for method in methods.values() for p in method.parameters}
    spaces = {name: space for name, space in SPACES.items() if name in known}
    executor.build(root, spaces, apis=list(methods))
    return executor


def leaves(value: Any) -> list[np.ndarray]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    return [leaf for item in value for leaf in leaves(item)] if type(value) is tuple else [value]


BY_RUN = {"define_by_run": True}
ways = pytest.mark.parametrize(
    ("backend", "options"),
    [
        *[pytest.param(name, {}, id=name) for name in ("numpy", "torch", "tf", "tf-graph")],
        *[pytest.param(name, BY_RUN, id=f"{name}-by-run") for name in ("numpy", "torch", "tf")],
    ],
)


@ways
@pytest.mark.parametrize("read", ["reshaped", "row", "nested", "declared", "by_argument"])
@pytest.mark.parametrize("kind", [Shelf, HostShelf])
def test_results_stay_when_variables_change(kind, read, options, backend):
    executor = built(kind(), backend, **options)
    results = leaves(executor.execute(read))
    executor.execute("increase")
    for result in results:
        np.testing.assert_array_equal(result, np.ones_like(result))


@ways
@pytest.mark.parametrize("read", ["reshaped", "row", "nested", "declared", "by_argument"])
def test_writing_into_a_result_changes_no_variable(read, options, backend):
    executor = built(Shelf(), backend, **options)
    for result in leaves(executor.execute(read)):
        if result.flags.writeable:
            result[...] = 7.0
    np.testing.assert_array_equal(executor.get_weights(trainable=None)["shelf/v"], np.ones((2, 3)))


@ways
@pytest.mark.parametrize("kind", [Shelf, HostShelf])
def test_a_value_read_before_a_write_stays_as_it_was_inside_a_plan(kind, options, backend):
    before, seen, after = built(kind(), backend, **options).execute("before_and_after")
    np.testing.assert_array_equal(before, np.full(6, 1.0))
    np.testing.assert_array_equal(seen, np.full(6, 1.0))
    np.testing.assert_array_equal(after, np.full(6, 2.0))


@ways
@pytest.mark.parametrize("kind", [Shelf, HostShelf])
def test_each_call_of_a_graph_function_is_judged_by_its_own_arguments(kind, backend, options):
    fresh, seen = built(kind(), backend, **options).execute("in_both_ways")
    np.testing.assert_array_equal(fresh, np.full(6, 2.0))
    np.testing.assert_array_equal(seen, np.full(6, 1.0))


def test_host_steps_inside_other_plans_hand_out_copies(backend):
    executor = built(Behind(), backend)
    result, _ = executor.execute("reshaped")
    executor.execute("increase")
    np.testing.assert_array_equal(result, np.ones(6))


@ways
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(
    "read",
    ["reshaped", "itself", "flipped", "nested", "picked", "declared", "branch", "carried"],
)
@pytest.mark.parametrize("kind", [Passing, HostPassing])
def test_results_do_not_follow_the_arguments(kind, read, batch, options, backend):
    executor = built(kind(), backend, **options)
    rng = np.random.default_rng(0)
    rows = np.ascontiguousarray(rng.random((batch, 4)), dtype=np.float32)
    numbers = np.arange(batch)
    arguments = ({"a": rows, "b": numbers},) if read in ("nested", "picked") else (rows,)
    results = leaves(executor.execute(read, *arguments))
    expected = [result.copy() for result in results]
    rows[...] = -1.0
    numbers[...] = -1
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_results_that_are_no_views_are_not_copied(backend):
    class Layer(Component):
        def create_variables(self, *, x: Box) -> None:
            self._w = self.variable("w", (4, 3), value=0.5, trainable=True)

        @api
        @graph_fn
        def call(self, x: Tensor) -> Tensor:
            return self.ops.matmul(self.ops.reshape(x, (-1, 4)), self._w)

        @api(fold_time=True)
        def folded(self, x: Any) -> Any:
            return self.call(x)

        @api
        def loop(self, x: Any) -> Any:
            return self.scan(self.step, self.call(x), x)

        @api
        def step(self, carry: Any, x: Any) -> Any:
            return carry, self.call(x)

        @api
        @graph_fn
        def first(self, x: Tensor) -> Tensor:
            return x[:, 0]

    executor = make_executor(backend)
    executor.build(Layer(), {"x": ROWS}, apis=["call", "folded", "loop", "first"])
    for name in ("call", "folded", "loop"):
        assert "snapshot" not in executor.plan(name).source
    assert ("snapshot" in executor.plan("first").source) == (backend in ("numpy", "torch"))


def test_read_only_arrays_enter_torch_in_their_own_memory_order():
    """A stack of frames is a view with its axes swapped: sorting its bytes would cost most."""
    from rlg.backends.torch.executor import _from_numpy

    stacks = np.arange(2 * 3 * 4 * 5, dtype=np.uint8).reshape(2, 3, 4, 5).transpose(0, 2, 3, 1)
    stacks.flags.writeable = False
    tensor = _from_numpy(stacks)
    assert tensor.stride() == stacks.strides
    np.testing.assert_array_equal(tensor.numpy(), stacks)
