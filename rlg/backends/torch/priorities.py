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
    """`priority_set`, `priority_draw` and `require` on tensors."""

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

    def priority_draw(self, sums: Tensor, prefixes: Tensor) -> Tensor:
        kernels = _kernels(sums)
        if kernels is None:
            return priorities.draw_by_levels(self, sums.detach(), prefixes)  # type: ignore[no-any-return]
        found = kernels.draw(sums.detach().numpy(), plain(prefixes.detach().numpy()))
        return torch.from_numpy(found)

    @staticmethod
    def require(condition: Tensor, message: str) -> None:
        if torch.compiler.is_compiling():
            torch._assert_async(condition, message)
        elif not condition:
            raise ExecutionError(message)
