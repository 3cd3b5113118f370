"""Lines about a run that is about to begin, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlg.api.run import Start

MOST_COLUMNS = 60  # a wrapped line could not be cleared
_CLEAR = "\r\x1b[2K"


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Shows the text in a terminal; what comes next is written over it. Logs don't get it."""
    from rlg.display.progress import can_be_drawn_on

    stream = sys.stderr
    if not can_be_drawn_on(stream):
        yield
        return
    # The cursor stays at the line's start: a panel that is drawn from here on covers the text.
    stream.write(f"{_CLEAR}{text[:MOST_COLUMNS]}\r")
    stream.flush()
    try:
        yield
    finally:
        stream.write(_CLEAR)
        stream.flush()


def print_start(start: Start, name: str = "") -> None:
    """Says where and how a run begins, and which settings make little sense.

    Jobs of a sweep, which have a name, are many: only their warnings are printed.
    """
    clear = _CLEAR if sys.stderr.isatty() else ""
    lines = [] if name else [f"rlg: {start.line}"]
    lines += [f"rlg: warning: {name}{text}" for text in start.warnings]
    sys.stderr.write("".join(f"{clear}{line}\n" for line in lines))
    sys.stderr.flush()


def loading_message(config: Mapping[str, Any]) -> str:
    """What is loaded and built before a run's first step; nothing is validated here."""

    def named(name: str, key: str) -> Any:
        section = config.get(name)
        return section.get(key) if isinstance(section, Mapping) else None

    backend, agent, env = named("backend", "type"), named("agent", "type"), named("env", "name")
    return f"loading {backend}, building {agent} on {env}..."
