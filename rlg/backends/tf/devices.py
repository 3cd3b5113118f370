"""Devices of the TensorFlow backend."""

from __future__ import annotations

import tensorflow as tf

from rlg.errors import BackendError


def available() -> list[str]:
    """The names of all devices."""
    return [device.name.removeprefix("/device:") for device in tf.config.list_logical_devices()]


def check(device: str) -> str:
    """The device's normalised name, or an error that lists the valid ones."""
    name = device.strip().upper().removeprefix("/").removeprefix("DEVICE:").replace("CUDA", "GPU")
    name = name if ":" in name else f"{name}:0"
    valid = available()
    if name in valid:
        return name
    raise BackendError(f"no device {device!r} here; available: {', '.join(valid)}.")
