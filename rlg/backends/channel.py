"""A queue between threads of one process, for backends that have none of their own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from rlg.errors import ClosedError, ExecutionError

PATIENCE = 60.0  # seconds: nobody else in this process puts or gets


class Channel:
    """A queue of items in the memory of this process."""

    def __init__(
        self, path: str, capacity: int, keep: Callable[[Any], Any], number: Callable[[int], Any]
    ) -> None:
        """`keep` copies a tensor, `number` makes one of an int."""
        self.path = path
        self.capacity = capacity
        self._keep, self._number = keep, number
        self._items: deque[list[Any]] = deque()
        self._changed = threading.Condition()
        self._is_closed = False

    def put(self, leaves: Sequence[Any]) -> None:
        item = [self._keep(leaf) for leaf in leaves]
        with self._changed:
            self._wait(lambda: len(self._items) < self.capacity, "no room")
            self._items.append(item)
            self._changed.notify_all()

    def get(self) -> list[Any]:
        with self._changed:
            self._wait(lambda: bool(self._items), "nothing to get")
            item = self._items.popleft()
            self._changed.notify_all()
        return item

    def size(self) -> Any:
        return self._number(len(self._items))

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _wait(self, ready: Callable[[], bool], what: str) -> None:
        found = self._changed.wait_for(lambda: self._is_closed or ready(), PATIENCE)
        if self._is_closed:
            raise ClosedError(f"{self.path}: the queue was closed.")
        if not found:
            raise ExecutionError(
                f"{self.path}: there was {what} for {PATIENCE:g} s ({len(self._items)} of "
                f"{self.capacity} items). Put and get from different threads."
            )
