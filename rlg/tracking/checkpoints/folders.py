"""The folders of checkpoints: written aside, renamed into place, removed, and tidied after kills.

- `step-000000123` is complete, for a rename is one step of the file system;
- `.tmp-123-4711` is being written or removed by process 4711;
- `.old-123-4711` is being replaced by a new one of its step, and moved back if that never came;
- `broken-000000123`, `discarded-000000123` were set aside: no code reads or deletes them.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from rlg.errors import CheckpointError
from rlg.tracking.checkpoints.files import Draft
from rlg.tracking.files import size, sync
from rlg.tracking.lock import alive

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_in_use: set[Path] = set()  # of this process, which may have several stores


class CheckpointFolders:
    """A folder of checkpoint folders, by step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, step: int, kind: str = "step") -> Path:
        return self.folder / f"{kind}-{step:09d}"

    def steps(self) -> list[int]:
        """All that are in place, intact or not, oldest first."""
        found = (re.fullmatch(r"step-(\d{9,})", path.name) for path in self._paths())
        return sorted(int(match.group(1)) for match in found if match)

    def commit(self, draft: Draft) -> Path:
        """Has a folder written aside, then moves it into place; a failure changes nothing."""
        path = self.path(draft.step)
        aside, old = self._aside("tmp", draft.step), self._aside("old", draft.step)
        _in_use.update((aside, old))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if draft.nbytes() > self._free():
                raise self._failure(path, "the disk is too full", draft.nbytes())
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
            draft.write(aside)
            self._move_in(aside, path, old)
        except OSError as error:
            shutil.rmtree(aside, ignore_errors=True)  # before the free bytes are counted
            needed = draft.nbytes() if error.errno in FULL else None
            raise self._failure(path, error.strerror or str(error), needed) from error
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

    def set_aside(self, step: int, kind: str) -> Path:
        """Renames a checkpoint so that it no longer counts; nothing is deleted."""
        target, number = self.path(step, kind), 1
        while target.exists():
            number += 1
            target = self.folder / f"{self.path(step, kind).name}.{number}"
        return self.path(step).rename(target)

    def tidy(self) -> None:
        """Removes what killed writers left, and moves back what they were replacing."""
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

    def _free(self) -> int:
        return shutil.disk_usage(self.folder).free

    def _failure(self, path: Path, what: str, needed: int | None) -> CheckpointError:
        """Why a checkpoint can't be written; `needed` are the bytes that there is no room for."""
        kept = "earlier checkpoints are kept" if self.steps() else ""
        if needed is None:
            return CheckpointError(
                f"{path}: can't be written: {what}.{kept and f' {kept.capitalize()}.'}"
            )
        return CheckpointError(
            f"{path}: can't be written: {what}; it needs {size(needed)}, {size(self._free())} are "
            f"free. Free some space or lower checkpoint.keep{kept and f'; {kept}'}."
        )
