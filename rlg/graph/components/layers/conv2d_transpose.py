"""The transposed convolution: from small images to larger ones."""

from __future__ import annotations

from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.layers.conv2d import Conv2D
from rlg.graph.spaces import Box, Space


class Conv2DTranspose(Conv2D):
    """Spreads each pixel over a window, stride apart: Zeiler et al. (2010), "deconvolution".

    It is the gradient of a Conv2D with the same sizes. inputs: float [B, H, W, C], also with time;
    outputs: [B, H', W', filters], H' = (H - 1) * stride + size for padding "valid", H * stride for
    "same" (TensorFlow's). The kernel is HWIO: height, width, channels, filters.
    """

    needs_room = False

    def create_variables(self, *, inputs: Space) -> None:
        super().create_variables(inputs=inputs)
        assert isinstance(inputs, Box)
        self._sizes = inputs.shape[:2]

    @api
    @graph_fn(fold_time=True)
    def call(self, inputs: Tensor) -> Tensor:
        # A convolution of pixels with zeros in between and around, by the kernel turned around.
        ops, spread, kernel = self.ops, inputs, self._kernel
        for axis in (1, 2):
            spread = self._spread(spread, axis)
            kernel = ops.flip(kernel, axis - 1)
        outputs = ops.conv2d(spread, kernel, (1, 1), "valid", self._bias)
        return self._activate(outputs) if self._activate else outputs

    def _spread(self, x: Tensor, axis: int) -> Tensor:
        """With stride - 1 zeros between pixels along an axis, and those around that padding asks
        for.
        """
        ops = self.ops
        count, stride = self._sizes[axis - 1], self.stride[axis - 1]
        size = self.kernel_size[axis - 1]
        length = (count - 1) * stride + 1
        if stride > 1:
            apart = ops.stack([x, *[ops.zeros_like(x)] * (stride - 1)], axis + 1)
            sizes = [ops.batch_size(x), *ops.shape_of(x)[1:]]
            sizes[axis] = count * stride
            x = _cut(ops.reshape(apart, sizes), axis, length)
        outputs, cut = length + size - 1, 0
        if self.padding == "same":
            outputs, cut = count * stride, max(0, size - stride) // 2
        before = size - 1 - cut
        after = outputs + size - 1 - length - before
        zero = ops.zeros_like(_cut(x, axis, 1))
        if after < 0:
            x, after = _cut(x, axis, length + after), 0
        return ops.concat([*[zero] * before, x, *[zero] * after], axis)


def _cut(x: Tensor, axis: int, length: int) -> Tensor:
    return x[:, :length] if axis == 1 else x[:, :, :length]
