"""A stream whose lines say whose they are, for jobs that write at the same time."""

from __future__ import annotations

import io
from typing import TextIO

PROGRAM = "rlg: "  # lines that begin so name their job themselves


class NamedLines(io.TextIOBase):
    """Writes whole lines only, so that those of several processes don't mix; it is no terminal."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream, self._name = stream, name
        self._rest = ""

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            name = "" if line.startswith(PROGRAM) or not line else self._name
            self._stream.write(f"{name}{line}\n")
        return len(text)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self._stream.fileno()
