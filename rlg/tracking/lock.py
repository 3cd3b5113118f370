"""The lock of a run folder: held by the kernel, so it never outlives its process.

Why not the process id alone: ids are reused, in containers at every start. The id is in the file
for people and messages, and for file systems that have no locks.
"""

from __future__ import annotations

import fcntl
import os
import time
import weakref
from pathlib import Path
from typing import IO

import psutil

from rlg.errors import TrackingError

NAME = ".lock"
TRIES, PAUSE = 10, 0.02  # seconds; a glance by `owner` holds the lock for microseconds
_held: weakref.WeakSet[FolderLock] = weakref.WeakSet()


class FolderLock:
    """Exclusive use of a folder by this process, until `release`; dead owners are taken over."""

    def __init__(self, folder: Path) -> None:
        try:
            self._file = (folder / NAME).open("a+", encoding="utf-8")
        except OSError as error:
            raise TrackingError(
                f"{folder}: {error.strerror}, but a run writes into its folder. Make it writable, "
                "or copy it to where it is."
            ) from error
        for _ in range(TRIES):
            if locked := _lock(self._file, folder, fcntl.LOCK_EX):
                break
            if alive(_written_pid(folder)):
                break
            time.sleep(PAUSE)
        if not locked:
            self._file.close()
            raise TrackingError(
                f"{folder}: in use by process {_written_pid(folder) or 'unknown'}. Wait for it, "
                "stop it, or choose another folder."
            )
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()
        _held.add(self)

    def release(self) -> None:
        if not self._file.closed:
            self._file.truncate(0)
            self._file.close()


def owner(folder: Path) -> int | None:
    """The process that uses a folder, if any does; 0 if its id is not known."""
    try:
        file = (folder / NAME).open("rb")
    except FileNotFoundError:
        return None
    with file:
        # The kernel's word counts: a holder writes its id only after it has got the lock.
        return None if _lock(file, folder, fcntl.LOCK_SH) else _written_pid(folder) or 0


def alive(pid: int | None) -> bool:
    """Whether a process of this id exists on this machine."""
    return pid is not None and pid < 2**31 and psutil.pid_exists(pid)


def _lock(file: IO[str] | IO[bytes], folder: Path, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks on this file system: go by the id
        return not alive(_written_pid(folder))
    return True


def _written_pid(folder: Path) -> int | None:
    text = (folder / NAME).read_text(encoding="utf-8").strip()
    return int(text) if text.isdecimal() else None


def _forget_all() -> None:
    """Closes a forked child's copies, which would otherwise keep its dead parent's locks."""
    for lock in list(_held):
        lock._file.close()


os.register_at_fork(after_in_child=_forget_all)
