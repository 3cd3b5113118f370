"""Loops, branches and host calls, beyond the cases of the contract."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rlg.backends.executor import make_executor
from rlg.backends.tf import host
from rlg.backends.tf.ops import TFOps
from rlg.errors import BackendError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import FloatBox, IntBox
from tests.backends.runners import OPS, run


def test_a_scan_changes_state_step_by_step(backend: str) -> None:
    seen: list[int] = []

    def note(n: Any) -> None:
        seen.append(int(n))

    def fn(ops: Any, v: Any, xs: Any) -> Any:
        def body(carry: Any, x: Any) -> Any:
            ops.scatter_rows(v["column"], ops.reshape(v["head"], [1]), ops.reshape(x, [1]))
            ops.assign_add(v["head"], 1)
            ops.host(note, [v["head"]], [])
            return carry, ops.value_of(v["head"])

        return ops.scan(body, (), xs)

    xs = np.arange(100, 300, dtype=np.float32)
    variables = {"column": np.zeros(200, np.float32), "head": np.array(0)}
    (heads,), found = run(backend, fn, [xs], variables)
    assert heads.tolist() == list(range(1, 201))
    assert seen == list(range(1, 201))
    np.testing.assert_array_equal(found["column"], xs)


def test_scans_and_branches_nest(backend: str) -> None:
    def fn(ops: Any, v: Any, xs: Any) -> Any:
        def inner(total: Any, x: Any) -> Any:
            return ops.cond(x > 2, lambda: total + x, lambda: total), None

        def outer(total: Any, row: Any) -> Any:
            total, _ = ops.scan(inner, total, row)
            return total, {"total": total, "empty": ()}

        return ops.scan(outer, ops.constant(0.0, "float32"), xs)

    found, _ = run(backend, fn, [np.float32([[1, 2, 3], [4, 5, 0]])])
    assert [x.tolist() for x in found] == [12, [3, 12]]


@pytest.mark.parametrize("name", ["numpy", "torch", "tf"])
def test_a_scan_says_what_is_wrong_with_its_lengths(name: str) -> None:
    ops = OPS[name]()
    three, two = ops.zeros([3]), ops.zeros([2])
    with pytest.raises(BackendError, match=r"differ: \[2, 3\]"):
        ops.scan(lambda c, x: (c, x), (), (three, two))
    with pytest.raises(BackendError, match="needs a length"):
        ops.scan(lambda c, x: (c, x), three, None)
    with pytest.raises(BackendError, match="no steps"):
        ops.scan(lambda c, x: (c, x), (), ops.zeros([0]))


def test_a_scan_may_have_no_steps_in_a_tensorflow_graph() -> None:
    def fn(ops: Any, v: Any, xs: Any) -> Any:
        return ops.scan(lambda c, x: (c + x, c), ops.zeros([2]), xs)

    found, _ = run("tf", fn, [np.zeros((0, 2), np.float32)])
    assert [x.shape for x in found] == [(2,), (0, 2)]


def _trace(fn: Any, *specs: Any) -> Any:
    return tf.function(fn, autograph=False).get_concrete_function(*specs).structured_outputs


def test_tensorflow_keeps_the_static_shapes_of_a_scan() -> None:
    ops = TFOps()

    def fn(carry: Any, xs: Any) -> Any:
        return ops.scan(lambda c, x: (c + x, c), carry, xs)

    last, ys = _trace(fn, tf.TensorSpec([None, 3]), tf.TensorSpec([7, None, 3]))
    assert last.shape.as_list() == [None, 3]
    assert ys.shape.as_list() == [7, None, 3]


def test_tensorflow_forgets_a_size_that_the_body_forgets() -> None:
    ops = TFOps()

    def fn(carry: Any, xs: Any) -> Any:
        return ops.scan(lambda c, x: (ops.concat([c, x], 0)[:2], None), carry, xs)

    last, _ = _trace(fn, tf.TensorSpec([2, 4]), tf.TensorSpec([None, None, 4]))
    assert last.shape.as_list() == [None, 4]


def test_a_scan_names_a_carry_that_changes_its_dtype() -> None:
    ops = TFOps()

    def fn(xs: Any) -> Any:
        return ops.scan(lambda c, x: (ops.cast(c, "int64"), x), xs[0], xs)

    with pytest.raises(BackendError, match="enters as float32, but leaves as int64"):
        _trace(fn, tf.TensorSpec([None, 3]))


def test_branches_may_give_nothing(backend: str) -> None:
    def fn(ops: Any, v: Any, flag: Any) -> Any:
        return ops.cond(
            flag,
            lambda: ops.assign(v["w"], 5.0),
            lambda: ops.assign_add(v["w"], ops.ones_like(v["w"])),
        )

    for flag, expected in ((True, [5, 5]), (False, [1, 1])):
        result, found = run(backend, fn, [np.array(flag)], {"w": np.zeros(2, np.float32)})
        assert result == []
        assert found["w"].tolist() == expected


def test_only_the_chosen_branch_runs(backend: str) -> None:
    calls: list[str] = []

    def fn(ops: Any, v: Any, flag: Any) -> Any:
        def branch(word: str) -> Any:
            return ops.host(
                lambda: calls.append(word) or np.float32(len(calls)), [], [("float32", ())]
            )

        return ops.cond(flag, lambda: branch("yes"), lambda: branch("no"))

    run(backend, fn, [np.array(False)])
    assert calls == ["no"]


@pytest.mark.parametrize("flag", [True, False])
def test_a_python_bool_decides_a_branch_while_tracing(backend: str, flag: bool) -> None:
    def fn(ops: Any, v: Any, x: Any) -> Any:
        return ops.cond(flag, lambda: x, lambda: -x)

    (found,), _ = run(backend, fn, [np.float32([1])])
    assert found.tolist() == ([1] if flag else [-1])


def test_host_results_may_be_read_only_or_backward(backend: str) -> None:
    frozen = np.arange(3, dtype=np.float32)
    frozen.flags.writeable = False

    def fn(ops: Any, v: Any) -> Any:
        return ops.host(lambda: (frozen, frozen[::-1]), [], [("float32", (3,))] * 2)

    found, _ = run(backend, fn, [])
    assert [x.tolist() for x in found] == [[0, 1, 2], [2, 1, 0]]


class BrokenError(Exception):
    pass


def test_errors_of_host_functions_are_kept(backend: str) -> None:
    def broken(x: Any) -> Any:
        raise BrokenError(f"{x.sum()} is too much")

    def fn(ops: Any, v: Any, x: Any) -> Any:
        return ops.host(broken, [x], [("float32", ())])

    in_graph = backend.startswith("tf")
    kept: list[BaseException] = []
    with (
        pytest.raises(tf.errors.OpError if in_graph else BrokenError, match="3 is too much"),
        host.keeping(kept),
    ):
        run(backend, fn, [np.array([1, 2])])
    assert [type(error) for error in kept] == ([BrokenError] if in_graph else [])


class Fragile(Component):
    """Two ways to fail: in Python on the host, and in an operation of the backend."""

    @api
    @graph_fn
    def in_python(self, x: Tensor) -> Tensor:
        return self.ops.host(self._broken, [x], [("float32", ())])[0]

    @api
    @graph_fn
    def by_operation(self, rows: Tensor) -> Tensor:
        return self.ops.take_rows(self.ops.zeros((3,)), rows)

    def _broken(self, x: Any) -> Any:
        if x.sum() > 2:
            raise BrokenError(f"{x.sum()} is too much")
        return x.sum()


@pytest.mark.parametrize("name", ["tf", "tf-graph"])
def test_an_error_is_reported_by_the_call_that_raised_it_and_no_other(name: str) -> None:
    first, second = make_executor(name), make_executor(name)
    for executor in (first, second):
        executor.build(Fragile(), {"x": FloatBox(), "rows": IntBox()})
    with pytest.raises(BrokenError, match="9"):
        first.execute("in_python", [4, 5])
    for executor in (first, second):
        with pytest.raises(tf.errors.OpError, match="is not in"):
            executor.execute("by_operation", [7])
    assert first.execute("in_python", [1, 1]) == 2.0
    with pytest.raises(BrokenError, match="3"):
        second.execute("in_python", [3])


@pytest.mark.parametrize(
    ("result", "message"),
    [(np.zeros(3), r"shape \(3,\), \(2,\) is declared"), ((1, 2), "2 results, but 1 are declared")],
)
@pytest.mark.parametrize("name", ["numpy", "torch", "tf"])
def test_host_results_are_checked(name: str, result: Any, message: str) -> None:
    with pytest.raises(BackendError, match=message):
        OPS[name]().host(lambda: result, [], [("float32", (2,))])
