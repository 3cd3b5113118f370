"""Variables: plain tensors, written in place and outside of autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.graph import increment_version

from rlg.backends.numpy.state import OneByOne, fresh


class TorchState(OneByOne):
    """Reading and writing variables."""

    def variable(
        self,
        value: NDArray[Any],
        *,
        trainable: bool = False,
        layout: str | None = None,
        like: Tensor | None = None,
        path: str = "variable",
    ) -> Tensor:
        """Lies on the default device in force (`with torch.device(...)`)."""
        with torch.inference_mode(False):  # Autograd refuses tensors made in that mode.
            source = torch.from_numpy(fresh(np.asarray(value)))
            strides = _strides(source, layout, like)
            device = torch.get_default_device()
            if strides == source.stride():
                variable = source.to(device)
            else:
                variable = torch.empty_strided(
                    source.shape, strides, dtype=source.dtype, device=device
                ).copy_(source)
            return variable.requires_grad_(trainable)

    @staticmethod
    def assign(variable: Tensor, value: Tensor | float) -> None:
        if isinstance(value, Tensor):
            variable.detach().copy_(value)
        else:
            variable.detach().fill_(value)

    @staticmethod
    def assign_add(variable: Tensor, value: Tensor | float) -> None:
        variable.detach().add_(value)

    @staticmethod
    def scatter_rows(variable: Tensor, rows: Tensor, values: Tensor | float) -> None:
        if not isinstance(values, Tensor):
            values = torch.full((), values, dtype=variable.dtype, device=variable.device)
        if variable.device.type != "cpu" or torch.compiler.is_compiling():
            _scatter(variable.detach(), rows, values.detach())
            return
        # NumPy writes rows in order and, for frames, many times faster than torch (measured: 18x).
        variable.detach().numpy()[rows.numpy()] = values.detach().numpy()
        increment_version(variable)

    value_of = staticmethod(torch.clone)


def _strides(source: Tensor, layout: str | None, like: Tensor | None) -> tuple[int, ...]:
    """Those of `like`; for kernels those that make `permute(3, 2, 0, 1)` channels_last."""
    if like is not None:
        return like.stride()
    if layout == "kernel":
        height, width, inputs, _ = source.shape
        return width * inputs, inputs, 1, height * width * inputs
    return source.stride()


def _scatter(variable: Tensor, rows: Tensor, values: Tensor) -> None:
    """Torch writes equal rows in any order: here all of them write the last one's values."""
    values = values.broadcast_to(rows.shape + variable.shape[1:]).flatten(0, rows.ndim - 1)
    ordered, origin = rows.flatten().sort(stable=True)
    last = torch.searchsorted(ordered, ordered, right=True) - 1
    variable.index_copy_(0, ordered, values.index_select(0, origin.index_select(0, last)))
