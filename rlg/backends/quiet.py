"""Imports libraries that write to stderr from C++, past Python and past their own settings."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

STDERR = 2


@contextmanager
def without_lines(noise: re.Pattern[bytes]) -> Iterator[None]:
    """Holds back what is written to stderr inside; lines that are not noise come out afterwards."""
    try:
        sys.stderr.flush()
        kept = os.dup(STDERR)
    except (OSError, ValueError, AttributeError):  # there is no stderr
        yield
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), STDERR)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(kept, STDERR)
            os.close(kept)
            held.seek(0)
            for line in held:
                if not noise.match(line):
                    os.write(STDERR, line)
