"""What a run leaves behind: its folder, log, metrics, TensorBoard events and checkpoints.

Why nothing here knows a framework: processes that only watch, list or restore runs must not load
one, so trees of numpy arrays and plain values go in and come out. Why every file is either
appended to line by line or replaced as a whole: a run may be killed at any moment, and what it
left must be readable and resumable.
"""

from rlg.errors import TrackingError
from rlg.tracking.checkpoints.store import Checkpoint, CheckpointStore
from rlg.tracking.checkpoints.tree import digest
from rlg.tracking.folder import RunFolder, Status
from rlg.tracking.metrics import EpisodeStats, MetricsLog, read_metrics

__all__ = [
    "Checkpoint",
    "CheckpointStore",
    "EpisodeStats",
    "MetricsLog",
    "RunFolder",
    "Status",
    "TrackingError",
    "digest",
    "read_metrics",
]
