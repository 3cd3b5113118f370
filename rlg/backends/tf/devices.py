"""Devices of the TensorFlow backend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import tensorflow as tf

from rlg.errors import BackendError

# The processor counts as one device, unless more are asked for before TensorFlow is used.
_MOST_CPUS = 64
AUTO = "AUTO:0"


def available() -> list[str]:
    """The names of all devices."""
    return [device.name.removeprefix("/device:") for device in tf.config.list_logical_devices()]


def physical() -> list[str]:
    """The same by the hardware: asking for logical ones would fix the threads of the process."""
    found = tf.config.list_physical_devices()
    return [device.name.removeprefix("/physical_device:") for device in found]


def accelerators() -> list[str]:
    """Those that are faster than the CPU."""
    return [name for name in physical() if name.startswith("GPU:")]


def possible() -> list[str]:
    """Those that there are, and those that `provide` can still make of the CPU."""
    others = [name for name in physical() if not name.startswith("CPU:")]
    return [*(f"CPU:{index}" for index in range(_MOST_CPUS)), *others]


def provide(names: Iterable[str]) -> None:
    """Divides the CPU into as many logical devices as these names need: CPU:1 needs two."""
    indices = [
        name.rpartition(":")[2] for name in map(_normalised, names) if name.startswith("CPU:")
    ]
    needed = 1 + max((int(index) for index in indices if index.isdecimal()), default=0)
    if not 1 < needed <= _MOST_CPUS:
        return
    processor = tf.config.list_physical_devices("CPU")[0]
    made = tf.config.get_logical_device_configuration(processor) or [None]
    if needed <= len(made):
        return
    try:
        logical = [tf.config.LogicalDeviceConfiguration() for _ in range(needed)]
        tf.config.set_logical_device_configuration(processor, logical)
    except RuntimeError:
        raise BackendError(
            f"CPU:{needed - 1}: this process has used TensorFlow with {len(made)} of the CPU's "
            "logical devices already. Make the executor that needs most of them first."
        ) from None


def task_of(device: str) -> str:
    """The task of a cluster that a device belongs to, "/job:actor/task:1"; "" without one."""
    spec = tf.DeviceSpec.from_string(device)
    return "" if spec.job is None else f"/job:{spec.job}/task:{spec.task or 0}"


def check(device: str, valid: Sequence[str] | None = None) -> str:
    """The device's normalised name, or an error that lists the valid ones.

    Those of a cluster's tasks are known to its servers only. `auto` is the first of
    `accelerators`, or else the CPU.
    """
    if device.startswith("/job:"):
        return _of_cluster(device)
    name = _normalised(device)
    valid = available() if valid is None else valid
    if name == AUTO:
        return next((other for other in valid if other.startswith("GPU:")), "CPU:0")
    if name in valid:
        return name
    # What could be made of the CPU is not there.
    there = [other for other in valid if len(valid) < _MOST_CPUS or other in physical()]
    raise BackendError(f"no device {device!r} here; available: {', '.join(there)}.")


def _normalised(device: str) -> str:
    name = device.strip().upper().removeprefix("/").removeprefix("DEVICE:").replace("CUDA", "GPU")
    return name if ":" in name else f"{name}:0"


def _of_cluster(device: str) -> str:
    try:
        spec = tf.DeviceSpec.from_string(device)
    except ValueError:
        raise BackendError(
            f"{device!r} is not a device of a cluster; write /job:NAME/task:NUMBER/device:CPU:0."
        ) from None
    kind, index = spec.device_type or "CPU", spec.device_index or 0
    return f"{task_of(device)}/device:{kind}:{index}"
