"""Images are NHWC everywhere; in torch that costs no copy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rlg.backends.numpy.images import pads
from rlg.backends.torch.ops import TorchOps
from rlg.errors import BackendError


def test_torch_gives_contiguous_images_in_hwc_order() -> None:
    ops = TorchOps()
    images = torch.rand(2, 16, 12, 4)
    first = ops.variable(np.ones((4, 4, 4, 8), np.float32), layout="kernel")
    second = ops.variable(np.ones((3, 3, 8, 6), np.float32), layout="kernel")
    for padding in ("valid", "same"):
        hidden = ops.conv2d(images, first, (2, 2), padding)
        pooled = ops.max_pool2d(hidden, (2, 2), (1, 1), padding)
        outputs = ops.conv2d(pooled, second, (1, 1), padding)
        assert hidden.is_contiguous()
        assert pooled.is_contiguous()
        assert outputs.is_contiguous()
        flat = ops.flatten(outputs)
        assert flat.data_ptr() == outputs.data_ptr()
        np.testing.assert_array_equal(flat.numpy(), outputs.numpy().reshape(2, -1))


def test_torch_permutes_views_only(monkeypatch: pytest.MonkeyPatch) -> None:
    ops, seen = TorchOps(), []
    images = torch.rand(2, 8, 8, 4)
    kernel = ops.variable(np.ones((3, 3, 4, 8), np.float32), layout="kernel")
    convolve = torch.conv2d

    def spy(x: torch.Tensor, weight: torch.Tensor, *rest: object) -> torch.Tensor:
        seen.extend([x, weight])
        return convolve(x, weight, *rest)

    monkeypatch.setattr(torch, "conv2d", spy)
    ops.conv2d(images, kernel, (1, 1), "same")
    assert [x.data_ptr() for x in seen] == [images.data_ptr(), kernel.data_ptr()]
    assert all(x.is_contiguous(memory_format=torch.channels_last) for x in seen)


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "expected"),
    [(84, 8, 4, (2, 2)), (21, 4, 2, (1, 2)), (11, 3, 1, (1, 1)), (5, 1, 3, (0, 0)),
     (7, 3, 5, (0, 1))],
)  # fmt: skip
def test_same_padding_follows_tensorflow(
    size: int, kernel: int, stride: int, expected: tuple[int, int]
) -> None:
    shape = (1, size, size, 1)
    assert pads(shape, (kernel, kernel), (stride, stride), "same") == (expected, expected)


def test_unknown_padding_is_refused() -> None:
    with pytest.raises(BackendError, match="use 'valid' or 'same'"):
        pads((1, 4, 4, 1), (2, 2), (1, 1), "full")
