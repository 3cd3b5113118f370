"""LSTMs over time with a gradient by hand: autograd would note a dozen operations in each step.

What steps don't hand on is computed for all of them at once. Resets included, which torch's own
layer does not have.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rlg.backends.numpy.recurrent import ScanRecurrent


class TorchRecurrent(ScanRecurrent):
    """`lstm_step` and `lstm` on tensors."""

    def lstm(
        self, x: Tensor, recurrent: Tensor, c: Tensor, h: Tensor, resets: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        if torch.compiler.is_compiling():  # The compiler joins the steps' operations itself.
            return super().lstm(x, recurrent, c, h, resets)
        if recurrent.device != x.device:  # Transfers don't look into functions of autograd.
            recurrent, c, h = (tensor.to(x.device) for tensor in (recurrent, c, h))
            resets = resets if resets is None else resets.to(x.device)
        results: tuple[Tensor, Tensor, Tensor]
        results = _LSTM.apply(x, recurrent, c, h, resets)  # type: ignore[no-untyped-call]
        return results


class _LSTM(torch.autograd.Function):
    """The step of `ScanRecurrent.lstm_step` in a loop, and back."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, recurrent: Tensor, c: Tensor, h: Tensor, resets: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        gates, cells, hiddens, tanhs, outputs = [], [], [], [], []
        for t, row in enumerate(x):
            if resets is not None:
                mask = resets[t].unsqueeze(-1)
                c, h = c.masked_fill(mask, 0.0), h.masked_fill(mask, 0.0)
            cells.append(c)
            hiddens.append(h)
            i, j, f, o = torch.addmm(row, h, recurrent).chunk(4, -1)  # [B, units] each
            i, j, f, o = i.sigmoid(), j.tanh(), f.sigmoid(), o.sigmoid()
            c = torch.addcmul(f * c, i, j)
            tanh = c.tanh()
            h = o * tanh
            gates += [i, j, f, o]
            tanhs.append(tanh)
            outputs.append(h)
        if any(ctx.needs_input_grad):
            every = torch.stack(gates).reshape(len(x), 4, *c.shape)  # [T, 4, B, units]
            stacks = (torch.stack(cells), torch.stack(hiddens), torch.stack(tanhs))
            ctx.save_for_backward(every, *stacks, recurrent, resets)
        return torch.stack(outputs), c, h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_outputs, d_c, d_h = gradients
        gates, cells, hiddens, tanhs, recurrent, resets = ctx.saved_tensors
        i, j, f, o = gates.unbind(1)  # [T, B, units] each
        # d mixed = these times (dc, dc, dc, dh): [T, B, 4 * units].
        slopes = torch.cat(
            [j * i * (1 - i), i * (1 - j * j), cells * f * (1 - f), tanhs * o * (1 - o)], -1
        )
        through = o * (1 - tanhs * tanhs)
        back = recurrent.T
        d_x = torch.empty_like(slopes)
        for t in reversed(range(len(slopes))):
            d_h = d_h + d_outputs[t]
            d_c = torch.addcmul(d_c, d_h, through[t])
            d_x[t] = slopes[t] * torch.cat([d_c, d_c, d_c, d_h], -1)
            d_h, d_c = d_x[t] @ back, d_c * f[t]
            if resets is not None:
                mask = resets[t].unsqueeze(-1)
                d_c, d_h = d_c.masked_fill(mask, 0.0), d_h.masked_fill(mask, 0.0)
        d_recurrent = hiddens.flatten(0, 1).T @ d_x.flatten(0, 1)
        return d_x, d_recurrent, d_c, d_h, None
