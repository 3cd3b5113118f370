"""When an error was raised, and the exit code that follows from it.

Errors before training starts exit with 2, later ones with 1. The same error class can mean either
(a space that doesn't fit is a mistake in a configuration, or an environment that changed its mind
at step 70,000), so the phase is noted on the error itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from rlg.errors import (
    BackendError,
    BuildError,
    ComponentError,
    ExecutionError,
    ExportError,
    RLGError,
    SpaceError,
    SpecError,
)

DONE = 0
FAILED = 1
BAD_CONFIGURATION = 2
REWARD_NOT_REACHED = 3  # of `--as-test`
INTERRUPTED = 130

# Of commands that run nothing: mistaken overrides, and components that can't be put together. A
# broken checkpoint or a full disk is neither.
MISTAKES = (SpecError, ComponentError, SpaceError, BuildError, BackendError, ExportError)

Phase = Literal["preparing", "running"]
_MARK = "_rlg_phase"


@contextmanager
def phase(name: Phase) -> Iterator[None]:
    """Errors that leave this block are of this phase; the innermost phase counts."""
    try:
        yield
    except RLGError as error:
        if phase_of(error) is None:
            setattr(error, _MARK, name)
        raise
    except SystemExit as stop:  # an environment's or a plugin's: nobody would say why the run ended
        failure = ExecutionError(
            f"something in the run called sys.exit({stop.code!r}). Raise an error there instead; "
            "--traceback shows where it is."
        )
        setattr(failure, _MARK, name)
        raise failure from stop


def phase_of(error: BaseException) -> Phase | None:
    """The phase in which it was raised, if it came from a run at all."""
    found: Phase | None = getattr(error, _MARK, None)
    return found


def exit_code_of(error: BaseException) -> int:
    """2 for what can't be run as it is configured, 1 for everything else."""
    name = phase_of(error)
    is_mistake = isinstance(error, MISTAKES) if name is None else name == "preparing"
    return BAD_CONFIGURATION if isinstance(error, RLGError) and is_mistake else FAILED
