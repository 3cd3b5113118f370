"""Optimizer steps by torch's fused kernels, on variables and slots that belong to the graph."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


class TorchOptimizer:
    """Optimizer steps as operations."""

    # One call for all tensors: with small networks the number of calls is what an update costs.
    @staticmethod
    def global_norm(tensors: Sequence[Tensor]) -> Tensor:
        norms = torch.stack(torch._foreach_norm(list(tensors)))
        norm: Tensor = torch.linalg.vector_norm(norms)
        return norm

    @staticmethod
    def scale_all(tensors: Sequence[Tensor], factor: Tensor) -> Sequence[Tensor]:
        return torch._foreach_mul(list(tensors), factor)

    @staticmethod
    def adam(
        variables: Sequence[Tensor],
        gradients: Sequence[Tensor],
        first: Sequence[Tensor],
        second: Sequence[Tensor],
        step: Tensor,
        *,
        learning_rate: Tensor | float,
        beta1: float,
        beta2: float,
        epsilon: float,
        weight_decay: float = 0.0,
    ) -> None:
        # The kernels of torch.optim.Adam(W, fused=True). They read the step without counting it, so
        # that all variables can share one; the functions around them would add 1 for each variable.
        kernel = torch._fused_adamw_ if weight_decay else torch._fused_adam_
        with torch.no_grad():
            step.add_(1)
            kernel(
                list(variables),
                [_laid_out(g, v) for g, v in zip(gradients, variables, strict=True)],
                list(first),
                list(second),
                [],
                [step] * len(variables),
                lr=learning_rate,
                beta1=beta1,
                beta2=beta2,
                weight_decay=weight_decay,
                eps=epsilon,
                amsgrad=False,
                maximize=False,
            )


def _laid_out(gradient: Tensor, variable: Tensor) -> Tensor:
    """The gradient in its variable's memory order: the kernels walk both by address."""
    if gradient.stride() == variable.stride():
        return gradient
    return torch.empty_like(variable).copy_(gradient)
