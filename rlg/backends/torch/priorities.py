"""Priority trees: on the CPU the compiled kernels, on views of the tensors' own memory."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.graph import increment_version

from rlg.backends import priorities
from rlg.backends.numpy.kernels import Kernels, compiled, plain
from rlg.errors import ExecutionError


def _kernels(variable: Tensor) -> Kernels | None:
    if variable.device.type != "cpu" or torch.compiler.is_compiling():
        return None
    return compiled()


class TorchPriorities:
    """The operations of prioritized memories on tensors."""

    def priority_raise(
        self, largest: Tensor, errors: Tensor, epsilon: float, alpha: float
    ) -> Tensor:
        kernels = _kernels(largest)
        if kernels is None or errors.dtype != torch.float32:
            errors = errors.detach()
            return priorities.raise_by_parts(self, largest, errors, epsilon, alpha)  # type: ignore[no-any-return]
        given = plain(errors.detach().numpy())
        leaves = kernels.raise_(largest.detach().numpy(), given, epsilon, alpha)
        increment_version(largest)
        return torch.from_numpy(leaves)

    def priority_set(
        self, sums: Tensor, mins: Tensor, rows: Tensor, values: Tensor, update: bool = False
    ) -> None:
        kernels = _kernels(sums)
        if kernels is None:
            priorities.set_by_levels(self, sums, mins, rows, values.detach(), update)
            return
        trees = sums.detach().numpy(), mins.detach().numpy()
        kernels.set(*trees, plain(rows.numpy()), plain(values.detach().numpy()), update)
        increment_version((sums, mins))

    def priority_find(self, sums: Tensor, prefixes: Tensor) -> Tensor:
        kernels = _kernels(sums)
        if kernels is None:
            return priorities.find_by_levels(self, sums.detach(), prefixes)  # type: ignore[no-any-return]
        found = kernels.find(sums.detach().numpy(), plain(prefixes.detach().numpy()), False)
        return torch.from_numpy(found[0])

    def priority_draw(self, sums: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
        kernels = _kernels(sums)
        if kernels is None:
            return priorities.draw_by_levels(self, sums.detach(), shares)
        rows, leaves = kernels.find(sums.detach().numpy(), plain(shares.detach().numpy()), True)
        return torch.from_numpy(rows), torch.from_numpy(leaves)

    @staticmethod
    def require(condition: Tensor, message: str) -> None:
        if torch.compiler.is_compiling():
            torch._assert_async(condition, message)
        elif not condition:
            raise ExecutionError(message)
