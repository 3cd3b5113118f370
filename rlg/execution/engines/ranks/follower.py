"""The process of a rank that follows: `python -m ... CONNECTION FLAG PARENT`."""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from rlg.execution.engines.ranks.collective import RankLostError
from rlg.execution.engines.ranks.crew import Crew
from rlg.execution.engines.ranks.launch import FAILED, LOST, REPORT, Setup

WATCH = 0.5  # seconds between looks at the parent


class Leader:
    """A follower's channel to rank 0, its parent process."""

    def __init__(self, connection: Connection, flag: mmap.mmap) -> None:
        self._connection = connection
        self._flag = flag

    def receive(self) -> tuple[str, tuple[Any, ...]]:
        name, args = pickle.loads(self._connection.recv_bytes())
        return name, args

    def report(self, value: Any) -> None:
        self.say(REPORT, value)

    def say(self, kind: str, value: Any) -> None:
        self._connection.send((kind, value))

    def is_hurried(self) -> bool:
        return self._flag[0] == 1

    def close(self) -> None:
        """The process ends soon."""


def main() -> None:
    connection, flag, parent = (int(word) for word in sys.argv[1:])
    end_with(parent)
    # Signals of a terminal or a scheduler reach all ranks: rank 0 answers them.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    leader = Leader(Connection(connection), mmap.mmap(flag, 1))
    try:
        _follow(leader)
    except (EOFError, BrokenPipeError, ConnectionError):
        os._exit(0)  # Rank 0 has left.
    except RankLostError as error:
        _last_words(leader, LOST, str(error))
    except BaseException as error:  # noqa: BLE001 whatever it is, rank 0 has to hear of it
        _last_words(leader, FAILED, " ".join(f"{type(error).__name__}: {error}".split()))


def _follow(leader: Leader) -> None:
    sys.path += [path for path in leader._connection.recv() if path not in sys.path]
    setup: Setup = pickle.loads(leader._connection.recv_bytes())
    # Loaded before ranks meet: from then on they wait for each other.
    import_module("tensorflow" if setup.collective.endswith("by_tf") else "torch")
    from rlg.execution.engines.ranks.engine import make_collective
    from rlg.execution.engines.ranks.lead import Follower

    leader.report("loaded")
    crew = Crew(make_collective(setup), leader)
    follower = Follower(setup.factory, crew, setup.horizon)
    leader.report("built")
    follower.follow()
    follower.close()


def _last_words(leader: Leader, kind: str, text: str) -> None:
    with suppress(OSError):
        leader.say(kind, text)
    # At once: others wait for what this rank will not do, and see its connections close.
    os._exit(1)


def end_with(parent: int) -> None:
    """Ends this process when its parent is gone, whatever it is doing."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


if __name__ == "__main__":
    main()
