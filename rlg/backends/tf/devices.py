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


def check(device: str, valid: Sequence[str] | None = None) -> str:
    """The device's normalised name, or an error that lists the valid ones."""
    name = device.strip().upper().removeprefix("/").removeprefix("DEVICE:").replace("CUDA", "GPU")
    name = name if ":" in name else f"{name}:0"
    valid = available() if valid is None else valid
    if name in valid:
        return name
    raise BackendError(f"no device {device!r} here; available: {', '.join(valid)}.")
