"""The first-in-first-out queue between threads that produce records and threads that take them."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from rlg.errors import ComponentError, ExecutionError
from rlg.graph import Size, Tensor, api, host_fn
from rlg.graph.components.memories.columns import Columns
from rlg.graph.limits import PositiveInt
from rlg.graph.spaces import IntBox, Space, flatten, unflatten


class FIFOQueue(Columns):
    """Returns records back in the order in which they came; both ends wait for each other.

    records: any nested space with a batch rank. A batch larger than the room left goes in piece by
    piece, and stays together. `timeout`: seconds after which waiting is an error; None: never.
    """

    on_host = True

    def __init__(self, buffer_size: PositiveInt = 1000, timeout: float | None = 60.0) -> None:
        super().__init__(buffer_size)
        self.timeout = timeout

    def create_variables(self, *, records: Space) -> None:
        if self.timeout is not None and self.timeout <= 0:
            raise ComponentError(
                f"{self.path}: timeout is {self.timeout}; give positive seconds, or None to wait "
                "for ever."
            )
        super().create_variables(records=records)
        self._changed = threading.Condition()
        # One batch at a time on each end.
        self._putting, self._getting = threading.Lock(), threading.Lock()

    def _nothing(self, records: Any) -> tuple[()]:
        return ()

    def _records(self, n: Any) -> Space:
        return self._space

    def _number(self) -> Space:
        return IntBox(ranks="")

    @api
    @host_fn(spaces=_nothing)
    def put(self, records: Tensor) -> None:
        """Adds records; waits while there is no room."""
        flat = flatten(records)
        n, done = len(next(iter(flat.values()))), 0
        with self._putting, self._changed:
            until = self._deadline()
            while done < n:
                self._wait(until, lambda: self._size < self.buffer_size, "put", "no room")
                count = min(n - done, self.buffer_size - int(self._size))
                rows = (self._index + self._size + np.arange(count)) % self.buffer_size
                for path, values in flat.items():
                    self._flat[path][rows] = values[done : done + count]
                self._size += count
                done += count
                self._changed.notify_all()

    @api
    @host_fn(spaces=_records)
    def get(self, n: Size) -> Tensor:
        """Takes the oldest n records; waits until they have come."""
        found: dict[Any, list[Any]] = {path: [] for path in self._flat}
        done = 0
        with self._getting, self._changed:
            until = self._deadline()
            while done < n:
                self._wait(until, lambda: self._size > 0, "get", "no records")
                count = min(n - done, int(self._size))
                rows = (self._index + np.arange(count)) % self.buffer_size
                for path, column in self._flat.items():
                    found[path].append(column[rows])
                self._index[...] = (self._index + count) % self.buffer_size
                self._size -= count
                done += count
                self._changed.notify_all()
        joined = {path: np.concatenate(parts) for path, parts in found.items()}
        return unflatten(joined, self._space)

    @api
    @host_fn(spaces=_number)
    def size(self) -> Tensor:
        """How many records wait."""
        return self._size.copy()

    def _deadline(self) -> float | None:
        return None if self.timeout is None else time.monotonic() + self.timeout

    def _wait(self, until: float | None, ready: Any, api: str, what: str) -> None:
        seconds = None if until is None else max(0.0, until - time.monotonic())
        if not self._changed.wait_for(ready, seconds):
            other = "get" if api == "put" else "put"
            raise ExecutionError(
                f"{self.path}.{api}: there was {what} for {self.timeout} s ({int(self._size)} of "
                f"{self.buffer_size} records). Call `{other}` from another thread, or raise "
                "buffer_size or timeout."
            )
