"""Devices of the PyTorch backend."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from rlg.errors import BackendError


def available() -> list[str]:
    """The names of all devices."""
    return ["cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]


physical = possible = available


def accelerators() -> list[str]:
    """Those that are faster than the CPU."""
    return [name for name in physical() if name != "cpu"]


def check(device: str, valid: Sequence[str] | None = None) -> str:
    """The device's normalised name, or an error that lists the valid ones.

    `auto` is the first of `accelerators`, or else the CPU.
    """
    name = device.strip().lower().replace("gpu", "cuda")
    name = {"cpu:0": "cpu", "cuda": "cuda:0"}.get(name, name)
    valid = available() if valid is None else valid
    if name == "auto":
        return next((other for other in valid if other != "cpu"), "cpu")
    if name in valid:
        return name
    raise BackendError(f"no device {device!r} here; available: {', '.join(valid)}.")
