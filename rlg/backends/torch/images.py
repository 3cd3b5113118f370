"""Convolution and pooling of NHWC images: permuted views that torch knows as channels_last.

Nothing is copied but for "same" padding that differs between the two sides of an image.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rlg.backends.numpy.images import pads


def conv2d(
    x: Tensor,
    kernel: Tensor,
    stride: tuple[int, int],
    padding: str,
    bias: Tensor | None = None,
) -> Tensor:
    """The HWIO kernel is a view of OIHW memory in channels_last order (`variable(layout=...)`)."""
    if padding == "valid":
        images, even = x.permute(0, 3, 1, 2), (0, 0)
    else:
        images, even = _padded(x, tuple(kernel.shape[:2]), stride, padding, 0.0)
    # Frames that were stacked channel by channel: convolutions of two orders cost half as much
    # again as this copy and one of one order.
    images = images.contiguous(memory_format=torch.channels_last)
    outputs = torch.conv2d(images, kernel.permute(3, 2, 0, 1), bias, stride, even)
    return outputs.permute(0, 2, 3, 1)


def max_pool2d(x: Tensor, size: tuple[int, int], stride: tuple[int, int], padding: str) -> Tensor:
    """The largest of each window; padding never wins."""
    images, even = _padded(x, size, stride, padding, -torch.inf)
    return torch.max_pool2d(images, size, stride, even).permute(0, 2, 3, 1)


def _padded(
    x: Tensor, size: tuple[int, ...], stride: tuple[int, int], padding: str, fill: float
) -> tuple[Tensor, tuple[int, int]]:
    """NCHW views of the images, and the even padding that is left to the operation itself."""
    images = x.permute(0, 3, 1, 2)
    (top, bottom), (left, right) = pads(tuple(x.shape), size, stride, padding)
    if top == bottom and left == right:
        return images, (top, left)
    return torch.nn.functional.pad(images, (left, right, top, bottom), value=fill), (0, 0)
