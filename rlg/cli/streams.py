"""What streams around another one share: whatever they don't change is the other's."""

from __future__ import annotations

import io
from typing import TextIO


class Wrapped(io.TextIOBase):
    """Around a stream; `write` is a subclass's business."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()
