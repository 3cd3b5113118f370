"""Variables: how they are made, written and read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch

from rlg.backends.numpy.ops import NumpyOps
from rlg.backends.tf.ops import TFOps
from rlg.backends.torch.ops import TorchOps
from tests.backends.runners import OPS, run


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
@pytest.mark.parametrize(("rows", "row"), [(3000, ()), (200_000, ()), (600, (30, 40))])
def test_of_equal_rows_the_last_one_wins(
    backend: str, dtype: str, rows: int, row: tuple[int, ...]
) -> None:
    generator = np.random.default_rng(0)
    index = generator.integers(0, 16, rows)
    values = generator.integers(0, 200, (rows, *row)).astype(dtype)
    expected = np.zeros((20, *row), dtype)
    for place in range(16):
        expected[place] = values[np.flatnonzero(index == place)[-1]]

    def fn(ops: Any, v: Any, index: Any, values: Any) -> None:
        ops.scatter_rows(v["column"], index, values)

    _, found = run(backend, fn, [index, values], {"column": np.zeros((20, *row), dtype)})
    np.testing.assert_array_equal(found["column"], expected)
    assert found["column"].dtype == dtype


def test_of_equal_rows_the_last_one_wins_where_torch_is_compiled() -> None:
    ops = TorchOps()
    column = ops.variable(np.zeros((4, 2), np.float32))
    rows, values = torch.tensor([[1, 3], [1, 1]]), torch.arange(8.0).reshape(2, 2, 2)
    scatter = torch.compile(ops.scatter_rows, backend="eager", fullgraph=True)
    scatter(column, rows, values)
    assert column.tolist() == [[0, 0], [6, 7], [0, 0], [2, 3]]


def test_small_values_of_another_task_travel_as_one_and_large_ones_alone() -> None:
    ops, sizes = TFOps(), (3, 5, 2**17)
    learner, actor = (f"/job:{job}/task:0/device:CPU:0" for job in ("learner", "actor"))
    with tf.Graph().as_default() as graph:
        theirs, mine = ([_placed(ops, where, size) for size in sizes] for where in (learner, actor))
        with tf.device(actor):
            ops.assign_all(mine, theirs)
    by_name = {operation.name: operation for operation in graph.get_operations()}
    (joined,) = [o for o in by_name.values() if o.type == "ConcatV2"]
    assert joined.device == learner
    assert joined.outputs[0].shape == [8]
    written = [o for o in by_name.values() if o.type == "AssignVariableOp"][-3:]
    assert {o.device for o in written} == {actor}
    assert {tuple(o.inputs[1].shape) for o in written} == {(3,), (5,), (2**17,)}


def _placed(ops: TFOps, device: str, size: int) -> Any:
    with tf.device(device):
        return ops.variable(np.zeros(size, np.float32))


def test_state_changes_happen_in_program_order(backend: str) -> None:
    def fn(ops: Any, v: Any) -> Any:
        seen = []
        for row in range(3):
            ops.scatter_rows(v["column"], ops.reshape(v["head"], [1]), ops.full([1], row + 1.0))
            seen.append(ops.sum(v["column"]))
            ops.assign_add(v["head"], 1)
        return ops.stack(seen, 0)

    variables = {"column": np.zeros(3, np.float32), "head": np.array(0)}
    (sums,), found = run(backend, fn, [], variables)
    assert sums.tolist() == [1, 3, 6]
    assert found["column"].tolist() == [1, 2, 3]
    assert found["head"] == 3


def test_a_snapshot_is_not_changed_by_later_writes(backend: str) -> None:
    def fn(ops: Any, v: Any) -> Any:
        before = ops.value_of(v["w"])
        ops.scatter_rows(v["w"], ops.arange(1), 9.0)
        between = ops.value_of(v["w"])
        ops.assign(v["w"], 5.0)
        return before, between, ops.value_of(v["w"])

    found, _ = run(backend, fn, [], {"w": np.float32([1, 2])})
    assert [x.tolist() for x in found] == [[1, 2], [9, 2], [5, 5]]


def test_a_scalar_is_written_to_the_whole_variable(backend: str) -> None:
    def fn(ops: Any, v: Any, x: Any) -> Any:
        ops.assign(v["w"], x)
        ops.assign_add(v["w"], ops.ones_like(x))
        ops.scatter_rows(v["w"], ops.arange(1), x)

    _, found = run(backend, fn, [np.float32(5)], {"w": np.ones((2, 2), np.float32)})
    assert found["w"].tolist() == [[5, 5], [6, 6]]


@pytest.mark.parametrize("name", ["numpy", "torch", "tf"])
def test_variables_copy_their_initial_value(name: str) -> None:
    value = np.ones(3, np.float32)
    ops = OPS[name]()
    first, second = ops.variable(value), ops.variable(value)
    ops.assign(first, ops.constant([7, 7, 7], "float32"))
    assert value.tolist() == [1, 1, 1]
    assert np.asarray(ops.value_of(second)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_broadcast_zeros_take_no_memory_until_they_are_written(name: str) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    ops, before = OPS[name](), resident()
    shape = (2**20, 1024)
    columns = ops.variable(np.broadcast_to(np.uint8(0), shape))
    ops.scatter_rows(columns, ops.arange(3), ops.full((3, 1024), 9, "uint8"))
    assert ops.shape_of(columns) == shape
    assert resident() - before < 2**26


def test_broadcasts_are_not_constants_of_a_tensorflow_graph() -> None:
    with tf.Graph().as_default() as graph:
        TFOps().variable(np.broadcast_to(np.float32(2), (1000, 1000)))
    assert graph.as_graph_def().ByteSize() < 10_000


@pytest.mark.parametrize("graph", [False, True])
def test_tensorflow_makes_variables_outside_of_what_it_traces(graph: bool) -> None:
    with tf.Graph().as_default() if graph else tf.device("CPU:0"):
        with tf.__internal__.FuncGraph("scratch").as_default():
            variable = TFOps().variable(np.float32([1, 2]))
        if not graph:
            assert variable.numpy().tolist() == [1, 2]
            return
        with tf.compat.v1.Session() as session:
            session.run(variable.initializer)
            assert session.run(variable.read_value()).tolist() == [1, 2]


def test_torch_makes_variables_on_the_device_in_force() -> None:
    ops = TorchOps()
    with torch.device("meta"):
        assert ops.variable(np.float32([1])).device.type == "meta"
    assert ops.variable(np.float32([1])).device.type == "cpu"


def test_kernels_are_channels_last_in_torch() -> None:
    ops = TorchOps()
    value = np.random.default_rng(0).normal(size=(3, 5, 4, 8)).astype(np.float32)
    kernel = ops.variable(value, trainable=True, layout="kernel")
    assert kernel.is_leaf
    assert kernel.requires_grad
    assert kernel.shape == (3, 5, 4, 8)
    assert kernel.permute(3, 2, 0, 1).is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_array_equal(kernel.detach().numpy(), value)
    slot = ops.variable(0 * value, like=kernel)
    assert slot.stride() == kernel.stride()
    assert ops.value_of(kernel).stride() == kernel.stride()
    assert not slot.requires_grad


def test_torch_variables_and_inference_mode() -> None:
    ops = TorchOps()
    with torch.inference_mode():
        variable = ops.variable(np.ones(3, np.float32), trainable=True)
        made_inside = torch.full((3,), 2.0)
        ops.assign_add(variable, made_inside)
        ops.scatter_rows(variable, torch.tensor([0]), made_inside[:1])
    ops.assign(variable, made_inside)
    loss = ops.sum(ops.square(variable))
    assert ops.gradients(loss, {"w": variable})["w"].tolist() == [4, 4, 4]


def test_torch_refuses_gradients_of_what_was_overwritten() -> None:
    ops = TorchOps()
    w = ops.variable(np.ones(2, np.float32), trainable=True)
    column = ops.variable(np.ones(2, np.float32))
    loss = ops.sum(w * column)
    ops.scatter_rows(column, torch.tensor([0]), torch.tensor([5.0]))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        ops.gradients(loss, {"w": w})


def test_torch_assigns_what_has_a_gradient() -> None:
    ops = TorchOps()
    w = ops.variable(np.ones(2, np.float32), trainable=True)
    total = ops.variable(np.float32(0))
    ops.assign(total, ops.sum(w * 2))
    ops.assign(w, w * 3)
    assert not total.requires_grad
    assert w.is_leaf
    assert w.tolist() == [3, 3]


def test_numpy_variables_of_rank_zero_are_written_in_place() -> None:
    ops = NumpyOps()
    count = ops.variable(np.int64(4))
    ops.assign_add(count, 1)
    ops.assign(count, count * 2)
    assert isinstance(count, np.ndarray)
    assert count == 10
