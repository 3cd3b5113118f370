"""What a run leaves behind: its folder, metrics, TensorBoard events, checkpoints and progress.

Why nothing here knows a framework: processes that only watch, list or restore runs must not load
one, so trees of numpy arrays and plain values go in and come out. Why every file is either
appended to line by line or replaced as a whole: a run may be killed at any moment, and what it
left must be readable and resumable.
"""

from rlg.tracking.checkpoints import CheckpointStore
from rlg.tracking.episodes import EpisodeStats
from rlg.tracking.errors import TrackingError
from rlg.tracking.figures import Figures, Title
from rlg.tracking.folder import RunFolder
from rlg.tracking.loaded import Checkpoint
from rlg.tracking.metrics import MetricsLog, read_metrics
from rlg.tracking.progress import PlainProgress, Progress, make_progress
from rlg.tracking.status import Status
from rlg.tracking.tree import digest

__all__ = [
    "Checkpoint",
    "CheckpointStore",
    "EpisodeStats",
    "Figures",
    "MetricsLog",
    "PlainProgress",
    "Progress",
    "RunFolder",
    "Status",
    "Title",
    "TrackingError",
    "digest",
    "make_progress",
    "read_metrics",
]
