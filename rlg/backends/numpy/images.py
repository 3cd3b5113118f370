"""Convolution and pooling of NHWC images by sliding windows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from rlg.errors import BackendError

Pads = tuple[tuple[int, int], tuple[int, int]]


def pads(
    shape: tuple[int, ...], size: tuple[int, ...], stride: tuple[int, int], padding: str
) -> Pads:
    """What to add before and after height and width of NHWC images, by TensorFlow's rule."""
    if padding == "valid":
        return (0, 0), (0, 0)
    if padding != "same":
        raise BackendError(f"padding is {padding!r}; use 'valid' or 'same'.")
    height, width = (
        max((-(-n // step) - 1) * step + k - n, 0)
        for n, k, step in zip(shape[1:3], size, stride, strict=False)
    )
    return (height // 2, height - height // 2), (width // 2, width - width // 2)


def conv2d(
    x: NDArray[Any],
    kernel: NDArray[Any],
    stride: tuple[int, int],
    padding: str,
    bias: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """One matrix product over all windows."""
    height, width, inputs, outputs = kernel.shape
    windows = _windows(x, (height, width), stride, padding, 0)  # [B, H, W, I, height, width]
    columns = windows.transpose(0, 1, 2, 4, 5, 3).reshape(-1, height * width * inputs)
    product: NDArray[Any] = columns @ kernel.reshape(-1, outputs)
    product = product.reshape(*windows.shape[:3], outputs)
    return product if bias is None else product + bias


def max_pool2d(
    x: NDArray[Any], size: tuple[int, int], stride: tuple[int, int], padding: str
) -> NDArray[Any]:
    """The largest of each window; padding never wins."""
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    result: NDArray[Any] = _windows(x, size, stride, padding, lowest).max(axis=(-2, -1))
    return result


def _windows(
    x: NDArray[Any], size: tuple[int, int], stride: tuple[int, int], padding: str, fill: float
) -> NDArray[Any]:
    rows, columns = pads(x.shape, size, stride, padding)
    if any(rows + columns):
        x = np.pad(x, ((0, 0), rows, columns, (0, 0)), constant_values=fill)
    return sliding_window_view(x, size, axis=(1, 2))[:, :: stride[0], :: stride[1]]
