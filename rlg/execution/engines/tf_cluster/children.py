"""Actor tasks as child processes: started, watched, restarted, ended."""

from __future__ import annotations

import os
import pickle
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

from rlg.backends.threads import ONE_THREAD
from rlg.errors import ExecutionError
from rlg.execution.engines.tf_cluster.actor import COMPLAINT, Setup
from rlg.execution.engines.tf_cluster.tasks import QUIET

STARTING = 300.0  # seconds until an actor's first rollout, at most
GRACE = 3.0  # seconds for actors to leave
FAILURES = 3  # in a row, without a rollout: then the run gives up
KILLS = 10  # the same where somebody else killed it: an actor that starts is no better protected
KILLED = "killed by"
SLOW = "no rollout for {:g} s. Raise executor.timeout if its environments are that slow"
BACKOFF = 0.5  # seconds until a restart, doubled by each failure in a row
LONGEST = 8.0  # seconds until a restart, at most


@dataclass(slots=True)
class _Child:
    """One actor's process."""

    setup: Setup
    process: subprocess.Popen[bytes]
    connection: Connection
    complaints: Any
    heard: float  # when its last rollout was learnt from, or it was started
    has_rolled: bool = False
    failures: int = 0
    restarts: int = 0
    due: float | None = None  # when it is started again

    def allowed(self, timeout: float) -> float:
        """Seconds that it may take for a rollout: for the first one frameworks are loaded."""
        return timeout if self.has_rolled else STARTING

    def how(self) -> str:
        """Why it is gone."""
        self.complaints.seek(0)
        lines = self.complaints.read().decode(errors="replace").strip().splitlines()
        said = [line for line in lines if line.startswith(COMPLAINT)] or lines
        code = self.process.returncode
        how = f"{KILLED} {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"{how}: {said[-1].removeprefix(COMPLAINT)}" if said else how

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.connection.close()
        self.complaints.close()


class Children:
    """All actors of a run on this machine."""

    def __init__(self, setups: list[Setup], timeout: float) -> None:
        """`timeout` is in seconds: an actor that rolls out nothing for so long hangs."""
        self.timeout = timeout
        self._full = time.monotonic()  # when the queue last had no room
        self._children: list[_Child] = []
        try:
            for setup in setups:
                self._children.append(_started(setup))
        except BaseException:
            self.close()
            raise

    def look(self, is_full: bool) -> None:
        """Restarts who died or hangs; gives up on who always does."""
        now = time.monotonic()
        if is_full:
            self._full = now  # They wait for room, and not for their environments.
        for index, child in enumerate(self._children):
            if child.due is not None:
                if now >= child.due:
                    self._children[index] = _restarted(child)
            elif child.process.poll() is not None:
                self._failed(child, index, child.how())
            elif now - max(child.heard, self._full) > child.allowed(self.timeout):
                child.process.kill()
                child.process.wait()
                self._failed(child, index, SLOW.format(child.allowed(self.timeout)))

    def _failed(self, child: _Child, index: int, how: str) -> None:
        child.failures += 1
        if child.failures >= (KILLS if how.startswith(KILLED) else FAILURES):
            raise ExecutionError(f"actor {index} failed {child.failures} times in a row: {how}")
        child.due = time.monotonic() + min(LONGEST, BACKOFF * 2 ** (child.failures - 1))

    def heard(self, index: int) -> None:
        """A rollout of this actor was learnt from."""
        child = self._children[index]
        child.heard, child.has_rolled, child.failures = time.monotonic(), True, 0

    @property
    def restarts(self) -> list[int]:
        """Of each actor."""
        return [child.restarts for child in self._children]

    def close(self) -> None:
        """Lets all actors leave, and ends those that don't."""
        for child in self._children:
            child.connection.close()
        deadline = time.monotonic() + GRACE
        for child in self._children:
            try:
                child.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                break
        for child in self._children:
            child.end()
        self._children = []


def _started(setup: Setup) -> _Child:
    mine, theirs = socket.socketpair()
    complaints = tempfile.TemporaryFile()  # noqa: SIM115 it lives as long as the process
    with theirs:
        module = "rlg.execution.engines.tf_cluster.actor"
        process = subprocess.Popen(
            [sys.executable, "-m", module, str(theirs.fileno()), str(os.getpid())],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            env=os.environ | ONE_THREAD | QUIET,
        )
    connection = Connection(mine.detach())
    child = _Child(setup, process, connection, complaints, time.monotonic())
    try:
        # Paths first: what is pickled may be found through them only.
        connection.send(list(sys.path))
        connection.send_bytes(pickle.dumps(setup))
    except OSError:
        pass  # It died at once: the next look says why.
    except BaseException:
        child.end()
        raise
    return child


def _restarted(child: _Child) -> _Child:
    child.end()
    found = _started(replace(child.setup, salt=1 + secrets.randbits(30)))
    found.failures, found.restarts = child.failures, child.restarts + 1
    return found
