"""How an exception becomes one line and an exit code."""

from __future__ import annotations

import sys
import traceback

from rlg.api.phases import FAILED, exit_code_of
from rlg.errors import RLGError


class JobsFailedError(Exception):
    """Jobs of a sweep that failed; each has said why."""


def explain(error: BaseException) -> tuple[str, int]:
    """The one line that says what went wrong, and the exit code."""
    text = " ".join(str(error).split())
    if isinstance(error, (RLGError, JobsFailedError)):
        return text, exit_code_of(error)
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"{what.rstrip('.')}. Add --traceback to see where it comes from.", FAILED


def report(error: BaseException, *, shows_all: bool = False, prefix: str = "") -> int:
    """Prints an error to stderr, if asked to with its traceback; returns the exit code."""
    if shows_all:
        traceback.print_exception(error, file=sys.stderr)
    line, code = explain(error)
    print(f"rlg: error: {prefix}{line}", file=sys.stderr, flush=True)
    return code
