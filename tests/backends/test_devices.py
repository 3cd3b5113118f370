"""Devices by name, and what TensorFlow knows of shapes while it traces."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import tensorflow as tf

from rlg.backends.numpy import devices as numpy_devices
from rlg.backends.tf import devices as tf_devices
from rlg.backends.tf.ops import TFOps
from rlg.backends.torch import devices as torch_devices
from rlg.errors import BackendError


@pytest.mark.parametrize(
    ("devices", "word", "name"),
    [
        (numpy_devices, "cpu", "cpu"),
        (numpy_devices, "CPU:0", "cpu"),
        (torch_devices, "cpu", "cpu"),
        (torch_devices, "CPU:0", "cpu"),
        (tf_devices, "cpu", "CPU:0"),
        (tf_devices, "/device:CPU:0", "CPU:0"),
    ],
)
def test_names_are_normalised(devices: Any, word: str, name: str) -> None:
    assert devices.check(word) == name
    assert name in devices.available()


@pytest.mark.parametrize("devices", [numpy_devices, torch_devices, tf_devices])
def test_errors_list_the_valid_devices(devices: Any) -> None:
    with pytest.raises(BackendError, match=r"(?i)no device 'tpu:7' here; available: cpu"):
        devices.check("tpu:7")


def test_numpy_needs_no_framework() -> None:
    code = (
        "import sys, rlg.backends.numpy.ops, rlg.backends.numpy.devices; "
        "sys.exit(bool({'torch', 'tensorflow', 'scipy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (lambda ops, x: ops.flatten(x), [None, 12]),
        (lambda ops, x: ops.fold_time(x), [None, 4]),
        (lambda ops, x: ops.unfold_time(ops.fold_time(x), x), [None, 3, 4]),
        (lambda ops, x: ops.reshape(x, [ops.batch_size(x), 12]), [None, 12]),
        (lambda ops, x: ops.zeros([ops.batch_size(x), 5]), [None, 5]),
        (lambda ops, x: ops.broadcast_to(x, [2, ops.batch_size(x), 3, 4]), [2, None, 3, 4]),
        (lambda ops, x: ops.one_hot(ops.argmax(x, -1), 6), [None, 3, 6]),
        (lambda ops, x: ops.pick(x, ops.argmax(x, -1)), [None, 3]),
        (
            lambda ops, x: ops.addmm(ops.zeros([7]), ops.flatten(x), ops.zeros([12, 7])),
            [None, 7],
        ),
        (lambda ops, x: ops.arange(ops.axis_size(x, 1)), [3]),
    ],
)
def test_tensorflow_keeps_static_shapes(call: Any, shape: list[int | None]) -> None:
    ops = TFOps()
    function = tf.function(lambda x: call(ops, x), autograph=False)
    outputs = function.get_concrete_function(tf.TensorSpec([None, 3, 4])).structured_outputs
    assert outputs.shape.as_list() == shape
    assert outputs.dtype != tf.int32


def test_tensorflow_sizes_are_static_or_int64() -> None:
    ops, seen = TFOps(), []

    def fn(x: Any) -> Any:
        seen.extend([ops.shape_of(x), ops.axis_size(x, -1), ops.batch_size(x).dtype])
        return x

    tf.function(fn, autograph=False).get_concrete_function(tf.TensorSpec([None, 3]))
    assert seen == [(None, 3), 3, tf.int64]
