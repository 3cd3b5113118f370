"""Loops and branches are Python's own; host functions get views of CPU tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rlg.backends.numpy.host import Output, call
from rlg.backends.numpy.regions import PythonRegions


def tensor_of(array: NDArray[Any], device: torch.device) -> Tensor:
    """The array's own memory as a tensor; read-only or backward arrays are copied."""
    if not array.flags.writeable or any(stride < 0 for stride in array.strides):
        array = np.array(array)
    return torch.from_numpy(array).to(device)


class TorchRegions(PythonRegions):
    """`scan`, `cond` and `host` on tensors."""

    device: torch.device

    def host(  # type: ignore[override]
        self, fn: Callable[..., Any], args: Sequence[Tensor], outputs: Sequence[Output]
    ) -> tuple[Tensor, ...]:
        arrays = [arg.detach().cpu().numpy() for arg in args]
        return tuple([tensor_of(result, self.device) for result in call(fn, arrays, outputs)])
