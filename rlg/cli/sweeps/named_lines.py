"""A stream whose lines say whose they are, for jobs that write at the same time."""

from __future__ import annotations

from typing import TextIO

from rlg.cli.streams import Wrapped

PROGRAM = "rlg: "  # lines that begin so name their job themselves


class NamedLines(Wrapped):
    """Writes whole lines only, so that those of several processes don't mix; it is no terminal."""

    def __init__(self, stream: TextIO, name: str) -> None:
        super().__init__(stream)
        self._name = name
        self._rest = ""

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            name = "" if line.startswith(PROGRAM) or not line else self._name
            self._stream.write(f"{name}{line}\n")
        return len(text)

    def isatty(self) -> bool:
        return False
