"""Starts the other ranks as processes of this machine, and says why one of them is gone."""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rlg.backends.threads import ONE_THREAD
from rlg.errors import ExecutionError
from rlg.execution.engines.ranks.collective import DeadRankError
from rlg.execution.roles import AgentFactory

STARTING = 300.0  # seconds until a rank has loaded its framework and built its agent, at most
GRACE = 3.0  # seconds for ranks to say what was wrong with them, or to leave
DYING = 60.0  # seconds until a rank that has closed its connections is gone, on a busy machine
# What a follower says: it answers, it failed by itself, or it lost others.
REPORT, FAILED, LOST = "report", "failed", "lost"


@dataclass(frozen=True, slots=True)
class Setup:
    """What a rank starts from."""

    factory: AgentFactory
    rank: int
    size: int
    meeting: Any  # how ranks find each other, for `collective`
    collective: str  # "module:function", of (meeting, rank, size, timeout)
    timeout: float
    horizon: int


@dataclass(slots=True)
class _Process:
    """One follower, with what it has said so far and where its complaints go."""

    rank: int
    process: subprocess.Popen[bytes]
    connection: Connection
    complaints: Any
    failure: str | None = None
    has_lost: bool = False
    is_closed: bool = False

    def take(self, message: tuple[str, Any]) -> tuple[str, Any]:
        if message[0] == FAILED:
            self.failure = str(message[1])
        self.has_lost |= message[0] == LOST
        return message

    def drain(self) -> None:
        """Hears what it has said."""
        try:
            while self.connection.poll():
                self.take(self.connection.recv())
        except (EOFError, OSError):
            self.is_closed = True

    @property
    def is_dying(self) -> bool:
        """Whether why it is gone is known soon: connections are closed before a process ends."""
        return self.is_closed and not self.has_lost

    def verdict(self) -> str | None:
        """Why it is gone; None if it is not, or if it has only lost others."""
        if self.failure is not None:
            return f"rank {self.rank} failed: {self.failure}"
        code = self.process.poll()
        if code is None or self.has_lost:
            return None
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        self.complaints.seek(0)
        lines = self.complaints.read().decode(errors="replace").strip().splitlines()
        return f"rank {self.rank} died ({how}){': ' + lines[-1] if lines else ''}"


class Followers:
    """Rank 0's channel to the others, which are its child processes."""

    def __init__(self, setups: list[Setup], timeout: float) -> None:
        self.timeout = timeout
        self._flag_file = tempfile.TemporaryFile()  # noqa: SIM115 it lives as long as the ranks
        self._flag_file.truncate(1)
        self._flag = mmap.mmap(self._flag_file.fileno(), 1)
        self._processes: list[_Process] = []
        try:
            for setup in setups:
                self._processes.append(self._spawn(setup))
        except BaseException:
            self.kill()
            raise

    def _spawn(self, setup: Setup) -> _Process:
        mine, theirs = socket.socketpair()
        complaints = tempfile.TemporaryFile()  # noqa: SIM115
        with theirs:
            fds = (theirs.fileno(), self._flag_file.fileno())
            module = "rlg.execution.engines.ranks.follower"
            process = subprocess.Popen(
                [sys.executable, "-m", module, *map(str, fds), str(os.getpid())],
                pass_fds=fds,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                env=os.environ | ONE_THREAD,
            )
        connection = Connection(mine.detach())
        # Paths first: what is pickled may be found through them only.
        connection.send(list(sys.path))
        connection.send_bytes(pickle.dumps(setup))
        return _Process(setup.rank, process, connection, complaints)

    def await_start(self) -> None:
        """Each rank has come one step further."""
        self._collect(STARTING)

    # -- rank 0's side of a channel ---------------------------------------------------------------
    def command(self, name: str, *args: Any, to: int | None = None) -> None:
        self._flag[0] = 0
        data = pickle.dumps((name, args), protocol=pickle.HIGHEST_PROTOCOL)
        for other in self._processes:
            if to in (None, other.rank):
                try:
                    other.connection.send_bytes(data)
                except OSError as error:
                    raise self.explained(error) from error

    def reports(self) -> list[Any]:
        return self._collect(self.timeout)

    def hurry(self) -> None:
        self._flag[0] = 1

    def _collect(self, seconds: float) -> list[Any]:
        deadline = time.monotonic() + seconds
        return [self._answer(other, deadline) for other in self._processes]

    def _answer(self, other: _Process, deadline: float) -> Any:
        try:
            while not other.connection.poll(0.2):
                # Another one may be what it waits for.
                if any(each.verdict() for each in self._processes):
                    raise self.explained(None)
                if time.monotonic() > deadline:
                    raise self.explained(None, hung=[other.rank])
            kind, value = other.take(other.connection.recv())
        except (EOFError, OSError) as error:
            raise self.explained(error) from error
        if kind != REPORT:
            raise self.explained(None)
        return value

    def explained(self, error: Exception | None, hung: list[int] | None = None) -> ExecutionError:
        """Which rank is gone, and why."""
        deadline = time.monotonic() + GRACE
        while True:
            for other in self._processes:
                other.drain()
            verdicts = [said for other in self._processes if (said := other.verdict())]
            silent = [other.rank for other in self._processes if not other.has_lost]
            patience = DYING if any(other.is_dying for other in self._processes) else 0.0
            if verdicts or not silent or time.monotonic() > deadline + patience:
                break
            time.sleep(0.05)
        if verdicts:
            return DeadRankError(_sentence(verdicts[0]))
        if silent := hung or silent:
            who = (
                f"rank {silent[0]}" if len(silent) == 1 else f"ranks {', '.join(map(str, silent))}"
            )
            return DeadRankError(
                f"{who} did not answer for {self.timeout:g} s. Raise executor.timeout if the "
                "environments are that slow."
            )
        return DeadRankError(_sentence(f"the ranks lost each other: {error}"))

    def close(self) -> None:
        """Lets the ranks leave, and ends those that don't."""
        with suppress(ExecutionError):  # Those that are gone need no command.
            self.command("leave")
        deadline = time.monotonic() + GRACE
        for other in self._processes:
            try:
                other.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                break
        self.kill()

    def kill(self) -> None:
        for other in self._processes:
            other.process.kill()
            other.process.wait()
            other.connection.close()
            other.complaints.close()
        self._processes = []
        self._flag.close()
        self._flag_file.close()


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


class Folder:
    """A meeting place of ranks on one machine: a file in a folder of their own."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rlg-ranks-")
        self.path = str(Path(self._folder.name) / "store")

    def close(self) -> None:
        self._folder.cleanup()


def each_setup(size: int, **values: Any) -> Iterator[Setup]:
    """Of all ranks but the first."""
    for rank in range(1, size):
        yield Setup(rank=rank, size=size, **values)
