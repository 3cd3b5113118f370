"""The environment variables that limit the threads of frameworks and numerical libraries."""

from __future__ import annotations

import os

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
)
# The environment of a process that keeps to one thread: torch and TensorFlow that share cores slow
# each other down.
ONE_THREAD = dict.fromkeys(THREADS, "1")


def share_threads(jobs: int) -> None:
    """Limits the frameworks that this process loads next to its share of the cores."""
    cores = len(os.sched_getaffinity(0))
    workers = jobs if jobs > 0 else max(1, cores + 1 + jobs)
    for name in THREADS:
        os.environ.setdefault(name, str(max(1, cores // workers)))
