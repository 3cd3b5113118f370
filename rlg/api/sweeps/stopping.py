"""Ctrl-C and SIGTERM during a sweep, with jobs in this process or in others.

One signal to the sweep saves what runs and starts nothing more; a second one stops at once. Jobs in
other processes get theirs from the sweep's process, so a worker that was only just started isn't
hit, and not from the terminal, which would be the second one. If the sweep's process is killed, the
kernel tells the workers.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Self, TextIO

import psutil

from rlg.api.interruption import Interruption
from rlg.api.phases import INTERRUPTED
from rlg.tracking import lock
from rlg.tracking.sweeps import STOP, job_folders

PAUSE = 0.2  # seconds between looks for jobs that have just begun
STDERR = 2
NOTICE = b"rlg: stopping: jobs save and end; interrupt once more to stop at once\n"
_PR_SET_PDEATHSIG = 1


class Stopping(Interruption):
    """The sweep's side: while entered, signals end the sweep in order."""

    def __init__(self, folder: Path, *, in_processes: bool) -> None:
        super().__init__()
        self._folder, self._in_processes = folder, in_processes
        self._closed = threading.Event()

    def __enter__(self) -> Self:
        (self._folder / STOP).unlink(missing_ok=True)
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        self._closed.set()
        super().__exit__(*error)
        (self._folder / STOP).unlink(missing_ok=True)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.requested or not self._in_processes:
            self.requested = True
            raise KeyboardInterrupt
        self.requested = True
        os.write(STDERR, NOTICE)  # print is not for signal handlers
        threading.Thread(target=self._tell, daemon=True).start()

    def _tell(self) -> None:
        """Asks every job that runs, once, and those that were just about to start."""
        (self._folder / STOP).touch()
        told: set[int] = set()
        while not self._closed.wait(PAUSE):
            owners = {lock.owner(folder) for folder in job_folders(self._folder)}
            children = {child.pid for child in psutil.Process().children()}
            for pid in children & owners - told:
                told.add(pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)


class Worker:
    """A job's side, where jobs run in processes of their own; one for each process."""

    def __init__(self, parent: int) -> None:
        self.stopped = False
        self._in_job = False
        self._is_child = os.getppid() == parent  # a cluster's scheduler has its own ways
        self._parent = parent
        if self._is_child:
            os.setpgid(0, 0)  # a terminal's Ctrl-C goes to the sweep alone
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            self._end_with_parent()  # it may have died before the kernel knew whom to tell
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._note)

    @contextmanager
    def job(self, sweep: Path) -> Iterator[bool]:
        """Whether a job may begin; inside, a signal is a KeyboardInterrupt unless a run saves."""
        self._in_job = True
        try:
            yield not (self.stopped or (sweep / STOP).exists())
        finally:
            self._in_job = False
            self._end_with_parent()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.stopped = True
        if self._in_job:
            raise KeyboardInterrupt
        self._end_with_parent()

    def _end_with_parent(self) -> None:
        """Nobody will ever send more work: joblib's workers would wait for it for good."""
        if self._is_child and os.getppid() != self._parent:
            sys.stdout.flush()
            os._exit(INTERRUPTED)


@cache
def worker_of(parent: int) -> Worker:
    """The one of this process."""
    return Worker(parent)


class NamedLines(io.TextIOBase):
    """Writes whole lines that say whose they are, so that those of several processes don't mix."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self._rest = ""

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            # Those of the program name their job themselves.
            name = "" if line.startswith("rlg: ") or not line else self._name
            self._stream.write(f"{name}{line}\n")
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()
