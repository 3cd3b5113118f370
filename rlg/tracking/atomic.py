"""Files that are replaced as a whole: a reader sees the old content or the new, never a mixture.

The temporary name is fixed, so that what a killed writer left is overwritten by the next one; run
folders have one writer at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def write_atomically(path: Path, content: str | Iterable[str]) -> None:
    """Writes aside, syncs, renames and syncs the folder; on an error the old file stays."""
    aside = path.with_name(f".{path.name}.tmp")
    try:
        with aside.open("w", encoding="utf-8", newline="") as file:
            file.writelines([content] if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Makes sure that a file's content, or a folder's list of names, has reached the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
