"""Memory that was freed stays with the process, for the next batch.

By default glibc returns large blocks to the system at once and gets them back page by page. A
learner frees and takes the same activations every update: with the Nature CNN and a batch of 512 a
third of its time went into page faults.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

MMAP, TRIM = (-3, 128 << 20), (-1, 512 << 20)  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD; in bytes
OWN = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")


@cache
def keep_freed_memory() -> bool:
    """Blocks below 128 MiB are taken from a heap that keeps up to 512 MiB of free space.

    Returns whether the allocator is one that was told; who has set it up by the environment keeps
    that.
    """
    if any(name in os.environ for name in OWN):
        return False
    tell = getattr(ctypes.CDLL(None), "mallopt", None)
    return tell is not None and all(tell(*setting) == 1 for setting in (MMAP, TRIM))
