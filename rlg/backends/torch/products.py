"""Large matrix products by oneDNN, where torch's own choice leaves half of the processor idle.

MKL, which torch calls, keeps to AVX2 on processors that are not Intel's. oneDNN, which torch has
too, uses their AVX-512: half the time for layers of 256 x 256 and 128 rows, outputs and gradients
alike. Small products stay with MKL, since a call of oneDNN costs 10 us more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

FEW_ROWS, SMALL = 32, 1 << 22  # rows, and multiplications, below which MKL is as fast


def prefers_onednn(capability: str, vendor: str) -> bool:
    """Whether a processor, as torch and Linux call it, has AVX-512 that MKL does not use."""
    others = vendor not in ("", "GenuineIntel")
    return capability == "AVX512" and others and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def vendor() -> str:
    """Of this machine's processor; nothing where Linux does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("vendor_id"))
    return next(named, "")


def addmm(bias: Tensor, x: Tensor, kernel: Tensor) -> Tensor:
    """bias + x @ kernel, with gradients of the first order."""
    if torch.compiler.is_compiling() or not _is_large(x, kernel):  # exports run elsewhere
        return torch.addmm(bias, x, kernel)
    if not torch.is_grad_enabled():
        return _product(x, kernel, bias)
    outputs: Tensor = _AddProduct.apply(bias, x, kernel)  # type: ignore[no-untyped-call]
    return outputs


def _is_large(x: Tensor, kernel: Tensor) -> bool:
    rows = len(x)
    if rows < FEW_ROWS or rows * kernel.numel() < SMALL:
        return False
    return x.is_cpu and kernel.is_cpu and x.dtype is torch.float32


class _AddProduct(torch.autograd.Function):
    """addmm and its gradients."""

    @staticmethod
    def forward(ctx: Any, bias: Tensor, x: Tensor, kernel: Tensor) -> Tensor:
        ctx.save_for_backward(x, kernel)
        return _product(x, kernel, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, kernel = ctx.saved_tensors
        by_bias, by_x, by_kernel = ctx.needs_input_grad
        return (
            gradient.sum(0) if by_bias else None,
            _product(gradient, kernel.t()) if by_x else None,
            _product(x.t(), gradient) if by_kernel else None,
        )


def _product(x: Tensor, y: Tensor, bias: Tensor | None = None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, y.t(), bias, "none", [], "")
    return product


ADDMM_WIDE = (
    addmm if prefers_onednn(torch.backends.cpu.get_cpu_capability(), vendor()) else torch.addmm
)
