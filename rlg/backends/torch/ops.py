"""The operations on torch tensors: aliases of torch's own functions wherever they mean the same.

Torch itself reads `axis` and `keepdims` as `dim` and `keepdim`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from rlg.backends.torch import images, products
from rlg.backends.torch.optimizer import TorchOptimizer
from rlg.backends.torch.priorities import TorchPriorities
from rlg.backends.torch.recurrent import TorchRecurrent
from rlg.backends.torch.regions import TorchRegions, tensor_of
from rlg.backends.torch.state import TorchState
from rlg.errors import BackendError
from rlg.graph.core.component.ops import Size
from rlg.graph.core.component.randomness import UNIFORMS, Stream

_NAMES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in _NAMES}
_NAME_OF = {dtype: name for name, dtype in DTYPES.items()}


class TorchOps(TorchState, TorchPriorities, TorchOptimizer, TorchRegions, TorchRecurrent):
    """The contract of `rlg.graph.core.component.ops` on torch; one instance per component."""

    # Draws that a plan hands in; without them numbers come from the component's own stream.
    feed: list[Tensor] | None = None

    def __init__(self, device: str = "cpu", stream: Stream | None = None) -> None:
        self.device = torch.device(device)
        self.stream = stream

    # -- inspection -------------------------------------------------------------------------------
    @staticmethod
    def shape_of(x: Tensor) -> tuple[int, ...]:
        return tuple(x.shape)

    @staticmethod
    def dtype_of(x: Tensor) -> str:
        return _NAME_OF[x.dtype]

    @staticmethod
    def batch_size(x: Tensor) -> int:
        return x.shape[0]

    @staticmethod
    def axis_size(x: Tensor, axis: int) -> int:
        return x.shape[axis]

    # -- making and reshaping ---------------------------------------------------------------------
    zeros_like = staticmethod(torch.zeros_like)
    ones_like = staticmethod(torch.ones_like)
    reshape = staticmethod(torch.reshape)
    transpose = staticmethod(torch.permute)
    expand_dims = staticmethod(torch.unsqueeze)
    broadcast_to = staticmethod(torch.broadcast_to)
    concat = staticmethod(torch.cat)
    stack = staticmethod(torch.stack)
    split = staticmethod(torch.chunk)

    def constant(self, value: Any, dtype: str) -> Tensor:
        # Tracing sees a numpy array as a tensor already, which torch.tensor would warn about.
        make = torch.as_tensor if torch.compiler.is_compiling() else torch.tensor
        return make(value, dtype=DTYPES[dtype], device=self.device)

    def zeros(self, shape: Sequence[Size], dtype: str = "float32") -> Tensor:
        return torch.zeros(tuple(shape), dtype=DTYPES[dtype], device=self.device)

    def full(self, shape: Sequence[Size], value: float, dtype: str = "float32") -> Tensor:
        return torch.full(tuple(shape), value, dtype=DTYPES[dtype], device=self.device)

    def arange(self, n: Size) -> Tensor:
        return torch.arange(n, dtype=torch.int64, device=self.device)

    def cast(self, x: Tensor | float, dtype: str) -> Tensor:
        if isinstance(x, Tensor):
            return x.to(DTYPES[dtype])
        return torch.tensor(x, dtype=DTYPES[dtype], device=self.device)

    @staticmethod
    def squeeze(x: Tensor, axis: int) -> Tensor:
        if x.shape[axis] != 1:  # Torch would leave such an axis alone.
            raise ValueError(f"squeeze: axis {axis} of shape {tuple(x.shape)} is not of size 1")
        return x.squeeze(axis)

    @staticmethod
    def flip(x: Tensor, axis: int) -> Tensor:
        return x.flip(axis)

    @staticmethod
    def fold_time(x: Tensor) -> Tensor:
        return x.flatten(0, 1)

    @staticmethod
    def unfold_time(x: Tensor, like: Tensor) -> Tensor:
        return x.reshape(like.shape[:2] + x.shape[1:])

    @staticmethod
    def flatten(x: Tensor, keep: int = 1) -> Tensor:
        return x.flatten(keep) if x.ndim > keep else x.unsqueeze(-1)

    # -- element by element -----------------------------------------------------------------------
    abs = staticmethod(torch.abs)
    sign = staticmethod(torch.sign)
    exp = staticmethod(torch.exp)
    log = staticmethod(torch.log)
    log1p = staticmethod(torch.log1p)
    sqrt = staticmethod(torch.sqrt)
    square = staticmethod(torch.square)
    power = staticmethod(torch.pow)
    tanh = staticmethod(torch.tanh)
    atanh = staticmethod(torch.atanh)
    floor = staticmethod(torch.floor)
    round = staticmethod(torch.round)
    sigmoid = staticmethod(torch.sigmoid)
    relu = staticmethod(torch.relu)
    elu = staticmethod(functional.elu)
    leaky_relu = staticmethod(functional.leaky_relu)
    gelu = staticmethod(functional.gelu)
    silu = staticmethod(functional.silu)
    softplus = staticmethod(functional.softplus)
    lgamma = staticmethod(torch.lgamma)
    digamma = staticmethod(torch.digamma)
    minimum = staticmethod(torch.minimum)
    maximum = staticmethod(torch.maximum)
    clip = staticmethod(torch.clip)
    where = staticmethod(torch.where)
    isfinite = staticmethod(torch.isfinite)
    equal = staticmethod(torch.eq)
    logical_and = staticmethod(torch.logical_and)
    logical_or = staticmethod(torch.logical_or)
    logical_not = staticmethod(torch.logical_not)

    # -- over axes --------------------------------------------------------------------------------
    sum = staticmethod(torch.sum)
    mean = staticmethod(torch.mean)
    max = staticmethod(torch.amax)  # torch.max gives pairs, and its gradient one of the ties only.
    min = staticmethod(torch.amin)
    any = staticmethod(torch.any)
    all = staticmethod(torch.all)
    argmax = staticmethod(torch.argmax)
    cumsum = staticmethod(torch.cumsum)
    logsumexp = staticmethod(torch.logsumexp)

    @staticmethod
    def argsort(x: Tensor, axis: int) -> Tensor:
        return torch.argsort(x, dim=axis, stable=True)

    @staticmethod
    def softmax(x: Tensor, axis: int = -1) -> Tensor:
        return torch.softmax(x, axis)

    @staticmethod
    def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
        return torch.log_softmax(x, axis)

    # -- linear and images ------------------------------------------------------------------------
    matmul = staticmethod(torch.matmul)
    addmm = staticmethod(torch.addmm)
    addmm_wide = staticmethod(products.ADDMM_WIDE)
    conv2d = staticmethod(images.conv2d)
    max_pool2d = staticmethod(images.max_pool2d)

    # -- picking ----------------------------------------------------------------------------------
    @staticmethod
    def take_rows(x: Tensor, rows: Tensor) -> Tensor:
        if rows.ndim == 1:
            return x.index_select(0, rows)  # Ten times faster than x[rows] on frames.
        return x.index_select(0, rows.flatten()).reshape(rows.shape + x.shape[1:])

    @staticmethod
    def pick(x: Tensor, index: Tensor) -> Tensor:
        return x.gather(-1, index.unsqueeze(-1)).squeeze(-1)

    @staticmethod
    def one_hot(x: Tensor, depth: int, dtype: str = "float32") -> Tensor:
        columns = torch.arange(depth, dtype=x.dtype, device=x.device)
        return (x.unsqueeze(-1) == columns).to(DTYPES[dtype])

    # -- gradients --------------------------------------------------------------------------------
    stop_gradient = staticmethod(Tensor.detach)

    @staticmethod
    def gradients(loss: Tensor, variables: Mapping[str, Tensor]) -> dict[str, Tensor]:
        if not loss.requires_grad:
            return {name: torch.zeros_like(variable) for name, variable in variables.items()}
        inputs = list(variables.values())
        grads = torch.autograd.grad(loss, inputs, retain_graph=True, materialize_grads=True)
        return dict(zip(variables, grads, strict=True))

    # -- randomness -------------------------------------------------------------------------------
    def random_uniform(self, shape: Sequence[Size], dtype: str = "float32") -> Tensor:
        return self._draw(UNIFORMS[dtype], shape)

    def random_normal(self, shape: Sequence[Size]) -> Tensor:
        return self._draw("normal", shape)

    def random_rows(self, shape: Sequence[Size], high: Size) -> Tensor:
        scaled: Tensor = self._draw("uniform64", shape) * high
        return scaled.to(torch.int64)

    def _draw(self, kind: str, shape: Sequence[Size]) -> Tensor:
        if self.feed is not None:
            return self.feed.pop(0)
        if self.stream is None:
            raise BackendError(f"random {kind} numbers: these operations have no stream.")
        return tensor_of(self.stream.draw(kind, [int(size) for size in shape]), self.device)
