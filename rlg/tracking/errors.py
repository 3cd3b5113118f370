"""The error of run folders and metrics; that of checkpoints is in `rlg.errors`."""

from __future__ import annotations

from rlg.errors import RLGError


class TrackingError(RLGError, RuntimeError):
    """A run folder that can't be used, or a value that can't be logged."""
