"""Values between the devices of torch, which itself refuses operations on several of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

# What is about tensors as they are: gradients are those of variables, not of their copies.
_AS_THEY_ARE = {torch.autograd.grad}


class Moving(TorchFunctionMode):
    """Operations inside run on one device; what lies elsewhere is copied there, once.

    Copies are part of the graph of autograd, so gradients arrive where the variables are. Nothing
    inside may write: it would write into a copy.
    """

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = torch.device(device)
        # With what they are copies of: a tensor's id is its own only as long as it lives.
        self._copies: dict[tuple[int, bool], tuple[torch.Tensor, torch.Tensor]] = {}

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func in _AS_THEY_ARE or getattr(func, "__name__", "") == "__get__":
            return func(*args, **kwargs)
        if func is torch.Tensor.to:
            # To another device, or another type: the former is decided here.
            args = [self._device if _is_device(arg) else arg for arg in args]
        if "device" in kwargs:
            kwargs["device"] = self._device
        return func(*self._moved(args), **self._moved(kwargs))

    def _moved(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value if value.device == self._device else self._copy(value)
        if isinstance(value, Mapping):
            return {key: self._moved(item) for key, item in value.items()}
        if type(value) in (tuple, list):
            return type(value)(self._moved(item) for item in value)
        return value

    def _copy(self, tensor: torch.Tensor) -> torch.Tensor:
        # A copy that was made without autograd has no way back to its variable.
        key = id(tensor), torch.is_grad_enabled()
        if key not in self._copies:
            self._copies[key] = tensor, tensor.to(self._device)
        return self._copies[key][1]


def _is_device(value: Any) -> bool:
    return isinstance(value, str | torch.device)


def to_device(value: Any, device: str) -> Any:
    """All tensors of a tree on one device."""
    if isinstance(value, Mapping):
        return {key: to_device(item, device) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(to_device(item, device) for item in value)
    return value.to(device) if isinstance(value, torch.Tensor) else value
