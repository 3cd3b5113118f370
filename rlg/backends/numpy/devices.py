"""Devices of the NumPy backend: the CPU."""

from __future__ import annotations

from rlg.errors import BackendError


def available() -> list[str]:
    """The names of all devices."""
    return ["cpu"]


def check(device: str) -> str:
    """The device's normalised name, or an error that lists the valid ones."""
    name = device.strip().lower()
    if name in ("cpu", "cpu:0", "auto"):
        return "cpu"
    raise BackendError(f"no device {device!r} here; available: cpu.")
