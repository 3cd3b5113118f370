"""Ctrl-C and SIGTERM: the first one asks the run to save and stop, the second stops it at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self


class Interruption:
    """While entered, signals set `requested`, which runs look at, instead of raising."""

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[int, Any] = {}

    @property
    def by_user(self) -> bool:
        """Whether the user asked, rather than a budget that is used up."""
        return self.requested

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
