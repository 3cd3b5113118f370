"""Recurrent layers over time by a scan: for every backend that has nothing better."""

from __future__ import annotations

from typing import Any

Array = Any


class ScanRecurrent:
    """`lstm_step` and `lstm`, of the other operations."""

    def lstm_step(
        self: Any, x: Array, recurrent: Array, c: Array, h: Array, resets: Array | None = None
    ) -> tuple[Array, Array]:
        if resets is not None:
            mask = self.expand_dims(resets, -1)
            c, h = self.where(mask, 0.0, c), self.where(mask, 0.0, h)
        i, j, f, o = self.split(x + self.matmul(h, recurrent), 4, -1)
        c = self.sigmoid(f) * c + self.sigmoid(i) * self.tanh(j)
        return c, self.sigmoid(o) * self.tanh(c)

    def lstm(
        self: Any, x: Array, recurrent: Array, c: Array, h: Array, resets: Array | None = None
    ) -> tuple[Array, Array, Array]:
        def body(carry: Any, row: Any) -> tuple[Any, Any]:
            carry = self.lstm_step(row[0], recurrent, *carry, row[1])
            return carry, carry[1]

        (c, h), outputs = self.scan(body, (c, h), (x, resets))
        return outputs, c, h
