"""The folders of checkpoints by name: made aside, moved in place, removed, and tidied after kills.

- `step-000000123` is complete, for a rename is one step of the file system;
- `.tmp-123-4711` is being written or removed by process 4711;
- `.old-123-4711` is being replaced by a new one of its step, and moved back if that never came.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from rlg.errors import CheckpointError
from rlg.tracking.atomic import sync
from rlg.tracking.lock import alive

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_in_use: set[Path] = set()  # of this process, which may have several stores


class Content(Protocol):
    """What can be put on a shelf."""

    step: int

    @property
    def nbytes(self) -> int:
        """About what it takes on disk."""

    def write(self, folder: Path) -> None:
        """Fills an empty folder and syncs it."""


class Shelf:
    """A folder of checkpoint folders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, step: int) -> Path:
        return self.folder / f"step-{step:09d}"

    def steps(self) -> list[int]:
        """All that are in place, whole or not, oldest first."""
        found = (re.fullmatch(r"step-(\d{9,})", path.name) for path in self._paths())
        return sorted(int(match.group(1)) for match in found if match)

    def place(self, content: Content) -> Path:
        """Writes aside and moves in place; if that fails, nothing has changed."""
        path = self.path(content.step)
        aside, old = self._aside("tmp", content.step), self._aside("old", content.step)
        _in_use.update((aside, old))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._check_room(path, content.nbytes)
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
            content.write(aside)
            self._move_in(aside, path, old)
        except OSError as error:
            shutil.rmtree(aside, ignore_errors=True)  # before the free bytes are counted
            raise self._failed(path, content.nbytes, error) from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)
            _in_use.difference_update((aside, old))
        return path

    def _move_in(self, aside: Path, path: Path, old: Path) -> None:
        if path.exists():
            path.rename(old)
        try:
            aside.rename(path)
        except BaseException:  # an interrupt too
            if old.exists() and not path.exists():
                old.rename(path)
            raise
        sync(self.folder)
        shutil.rmtree(old, ignore_errors=True)

    def remove(self, steps: Iterable[int]) -> None:
        """Takes each out of sight first, so that a kill leaves no half checkpoint."""
        for step in steps:
            aside = self._aside("tmp", step)
            shutil.rmtree(aside, ignore_errors=True)
            self.path(step).rename(aside)
            shutil.rmtree(aside, ignore_errors=True)

    def tidy(self) -> None:
        """Removes what writers left that are no more, and moves back what they were replacing."""
        for path in self._paths():
            match = re.fullmatch(r"\.(tmp|old)-(\d+)-(\d+)", path.name)
            if match is None or path in _in_use:
                continue
            kind, step, pid = match.group(1), int(match.group(2)), int(match.group(3))
            if pid != os.getpid() and alive(pid):
                continue
            if kind == "old" and not self.path(step).exists():
                path.rename(self.path(step))
            else:
                shutil.rmtree(path, ignore_errors=True)

    def _paths(self) -> list[Path]:
        return list(self.folder.iterdir()) if self.folder.is_dir() else []

    def _aside(self, kind: str, step: int) -> Path:
        return self.folder / f".{kind}-{step}-{os.getpid()}"

    def _check_room(self, path: Path, needed: int) -> None:
        free = shutil.disk_usage(self.folder).free
        if needed > free:
            raise CheckpointError(_no_room(path, needed, free, "the disk is too full"))

    def _failed(self, path: Path, needed: int, error: OSError) -> CheckpointError:
        what = error.strerror or str(error)
        if error.errno in FULL:
            free = shutil.disk_usage(self.folder).free
            return CheckpointError(_no_room(path, needed, free, what))
        return CheckpointError(f"{path}: can't be written: {what}. Earlier checkpoints are kept.")


def _no_room(path: Path, needed: int, free: int, what: str) -> str:
    return (
        f"{path}: can't be written: {what}; it needs {size(needed)}, {size(free)} are free. Free "
        "some space or lower checkpoint.keep; earlier checkpoints are kept."
    )


def size(count: int) -> str:
    """Bytes for people: 1.5 MB."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
