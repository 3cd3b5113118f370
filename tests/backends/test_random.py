"""Random numbers: the same streams on every backend, fed or drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rlg.backends.tf.ops import TFOps
from rlg.errors import BackendError
from tests.backends.runners import OPS, run, stream

DRAWS = [("uniform", (3, 2)), ("normal", (4,)), ("uniform64", (1000,)), ("uniform", ())]


def _mixed(ops: Any, v: Any) -> Any:
    return (
        ops.random_uniform((3, 2)),
        ops.random_normal([4]),
        ops.random_rows([1000], v["size"]),
        ops.random_uniform(()),
    )


def test_streams_are_equal_on_every_backend(backend: str) -> None:
    variables = {"size": np.array(12_345_678)}
    found, _ = run(backend, _mixed, [], variables, DRAWS)
    expected, _ = run("numpy", _mixed, [], variables, DRAWS)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    rows = found[2]
    assert rows.dtype == np.int64
    assert 0 <= rows.min() < rows.max() < 12_345_678
    assert len(np.unique(rows)) > 990


@pytest.mark.parametrize("name", ["numpy", "torch", "tf"])
def test_eager_draws_come_from_the_stream_with_sizes_of_any_kind(name: str) -> None:
    ops = OPS[name](stream=stream())
    size = ops.constant(3, "int64")
    found = ops.random_uniform([size, 2])
    np.testing.assert_array_equal(np.asarray(found), stream().uniform((3, 2)))


@pytest.mark.parametrize("name", ["numpy", "torch", "tf"])
def test_fed_draws_are_taken_in_order_and_leave_the_stream_alone(name: str) -> None:
    ops = OPS[name](stream=stream())
    before = ops.stream.state
    ops.feed = [ops.constant([0.25], "float32"), ops.constant([0.0, 0.5, 0.999], "float64")]
    assert np.asarray(ops.random_normal((1,))).tolist() == [0.25]
    assert np.asarray(ops.random_rows((3,), 4)).tolist() == [0, 2, 3]
    assert ops.feed == []
    assert ops.stream.state == before


def test_tensorflow_refuses_to_draw_inside_of_a_graph() -> None:
    ops = TFOps(stream=stream())
    with pytest.raises(BackendError, match="must be fed"):
        tf.function(lambda: ops.random_uniform((2,)), autograph=False)()


@pytest.mark.parametrize("name", ["numpy", "torch", "tf"])
def test_operations_without_a_stream_say_so(name: str) -> None:
    with pytest.raises(BackendError, match="no stream"):
        OPS[name]().random_uniform((2,))
