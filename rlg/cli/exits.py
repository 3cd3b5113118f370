"""How an exception becomes one line and an exit code."""

from __future__ import annotations

import sys
import traceback

from rlg.api.phases import FAILED, exit_code_of
from rlg.errors import RLGError, error_line


class JobsFailedError(RLGError):
    """Jobs of a sweep that failed; each has said why."""


def explain(error: BaseException) -> tuple[str, int]:
    """The one line that says what went wrong, and the exit code."""
    what = error_line(error)
    if isinstance(error, RLGError):
        return what, exit_code_of(error)
    if isinstance(error, OSError) and error.filename and error.strerror:
        what = f"{error.filename}: {error.strerror}"
    return f"{what.rstrip('.')}. Add --traceback to see where it comes from.", FAILED


def report(error: BaseException, *, shows_all: bool = False, prefix: str = "") -> int:
    """Prints an error to stderr, if asked to with its traceback; returns the exit code."""
    if shows_all:
        traceback.print_exception(error, file=sys.stderr)
    line, code = explain(error)
    print(f"rlg: error: {prefix}{line}", file=sys.stderr, flush=True)
    return code
