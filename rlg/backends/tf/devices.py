"""Devices of the TensorFlow backend."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from rlg.errors import BackendError


def available() -> list[str]:
    """The names of all devices."""
    return [device.name.removeprefix("/device:") for device in tf.config.list_logical_devices()]


def physical() -> list[str]:
    """The same by the hardware: asking for logical ones would fix the threads of the process."""
    found = tf.config.list_physical_devices()
    return [device.name.removeprefix("/physical_device:") for device in found]


def task_of(device: str) -> str:
    """The task of a cluster that a device belongs to, "/job:actor/task:1"; "" without one."""
    spec = tf.DeviceSpec.from_string(device)
    return "" if spec.job is None else f"/job:{spec.job}/task:{spec.task or 0}"


def check(device: str, valid: Sequence[str] | None = None) -> str:
    """The device's normalised name, or an error that lists the valid ones.

    Those of a cluster's tasks are known to its servers only.
    """
    if device.startswith("/job:"):
        return _of_cluster(device)
    name = device.strip().upper().removeprefix("/").removeprefix("DEVICE:").replace("CUDA", "GPU")
    name = name if ":" in name else f"{name}:0"
    valid = available() if valid is None else valid
    if name in valid:
        return name
    raise BackendError(f"no device {device!r} here; available: {', '.join(valid)}.")


def _of_cluster(device: str) -> str:
    try:
        spec = tf.DeviceSpec.from_string(device)
    except ValueError:
        raise BackendError(
            f"{device!r} is not a device of a cluster; write /job:NAME/task:NUMBER/device:CPU:0."
        ) from None
    kind, index = spec.device_type or "CPU", spec.device_index or 0
    return f"{task_of(device)}/device:{kind}:{index}"
