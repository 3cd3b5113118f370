"""Exit codes, and how an exception becomes one of them and one line."""

from __future__ import annotations

import sys
import traceback

from rlg.api.phases import phase_of
from rlg.errors import (
    BackendError,
    BuildError,
    ComponentError,
    RLGError,
    SpaceError,
    SpecError,
)

DONE = 0
FAILED = 1
BAD_CONFIGURATION = 2
REWARD_NOT_REACHED = 3  # of `--as-test`
INTERRUPTED = 130

# Of commands that run nothing: mistaken words, and components that can't be put together. A broken
# checkpoint or a full disk is neither.
MISTAKES = (SpecError, ComponentError, SpaceError, BuildError, BackendError)


class JobsFailedError(Exception):
    """Jobs of a sweep that failed; each has said why."""


def explain(error: BaseException) -> tuple[str, int]:
    """The one line that says what went wrong, and the exit code."""
    if isinstance(error, JobsFailedError):
        return str(error), FAILED
    if isinstance(error, RLGError):
        return _line(error), BAD_CONFIGURATION if _is_of_configuration(error) else FAILED
    text = _line(error)
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"{what.rstrip('.')}. Add --traceback to see where it comes from.", FAILED


def _is_of_configuration(error: RLGError) -> bool:
    """By when it was raised, if it came from a run: before the first step, it can't be run."""
    phase = phase_of(error)
    return isinstance(error, MISTAKES) if phase is None else phase == "preparing"


def report(error: BaseException, *, shows_all: bool = False, prefix: str = "") -> int:
    """Prints an error where errors go, if asked to with its traceback; gives the exit code."""
    if shows_all:
        traceback.print_exception(error, file=sys.stderr)
    line, code = explain(error)
    print(f"rlg: error: {prefix}{line}", file=sys.stderr, flush=True)
    return code


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
