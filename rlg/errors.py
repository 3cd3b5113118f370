"""Every error that rlg raises on purpose, in one tree.

A message says where, what (with the values at hand) and what to do. Each class also derives from
the builtin that Python users would catch.
"""

from __future__ import annotations

DISTRIBUTION = "rlgraph-next"  # what pip knows; the import and the command are `rlg`


def pip_install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


class RLGError(Exception):
    """Root of all errors that a user can cause and mend."""


class SpaceError(RLGError, ValueError):
    """A space that can't exist, or spaces and values that don't fit each other."""


class ComponentError(RLGError, TypeError):
    """A component that is wrongly written or wrongly composed."""


class AssemblyError(ComponentError):
    """API methods that can't be traced into a graph: wrong arity, unknown API, forbidden calls."""


class UnknownAPIError(AssemblyError, AttributeError):
    """A call of an API method that a component doesn't have."""


class BuildError(RLGError, RuntimeError):
    """A graph that can't be built: missing inputs, cycles, mismatching spaces."""


class ExecutionError(RLGError, RuntimeError):
    """A call into a built graph that can't be carried out."""


class DisconnectedError(ExecutionError, ConnectionError):
    """A task of a cluster that can't be reached (any more)."""


class ClosedError(ExecutionError):
    """A queue or session that its owner has closed: nothing more will come."""


class BackendError(RLGError, RuntimeError):
    """A backend or device that is missing, or that can't do what was asked of it."""


class SpecError(RLGError, ValueError):
    """A component specification (dict, YAML, JSON) that names something unknown."""


class CheckpointError(RLGError, RuntimeError):
    """A checkpoint that can't be written, or that is missing, broken or restored differently."""


class ExportError(RLGError, RuntimeError):
    """A policy that can't be exported."""


class ParityError(RLGError, RuntimeError):
    """An exported policy that does not act as the run does."""


class EnvironmentFailure(RLGError, RuntimeError):  # noqa: N818 - an EnvironmentError is builtin
    """An environment that raised an error, or that can't go on with what it was given."""


class TrackingError(RLGError, RuntimeError):
    """A run folder that can't be used, or a value that can't be logged."""


def error_line(error: BaseException) -> str:
    """An error in one line: its message, with its type where it wasn't written for people."""
    text = " ".join(str(error).split())
    if isinstance(error, RLGError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
