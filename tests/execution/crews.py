"""Ranks as threads of one process: the same collective and the same followers, without start-up."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import Queue
from typing import Any

from rlg.errors import ExecutionError
from rlg.execution.engines.ranks.collective import GlooCollective
from rlg.execution.engines.ranks.crew import Crew
from rlg.execution.engines.ranks.lead import Follower, LeadingLoop
from rlg.execution.engines.ranks.rounds import open_rank

TIMEOUT = 30.0


class Thread(threading.Thread):
    """One that hands over its result, or its error."""

    def __init__(self, function: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._function = function
        self.start()

    def run(self) -> None:
        self.error: BaseException | None = None
        try:
            self.value = self._function()
        except BaseException as error:  # noqa: BLE001 it is raised where it is asked for
            self.error = error

    def result(self) -> Any:
        self.join(2 * TIMEOUT)
        assert not self.is_alive()
        if self.error is not None:
            raise self.error
        return self.value


def together(size: int, function: Callable[[GlooCollective], Any], timeout: float = TIMEOUT) -> Any:
    """What the function returns on each rank."""
    from torch import distributed

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    store = distributed.HashStore()

    def run(rank: int) -> Any:
        collective = GlooCollective(store, rank, size, timeout)
        try:
            return function(collective)
        finally:
            collective.close()

    threads = [Thread(lambda rank=rank: run(rank)) for rank in range(size)]
    return [thread.result() for thread in threads]


class Queues:
    """Both ends of a channel between threads."""

    def __init__(self, size: int) -> None:
        self.orders: list[Queue[Any]] = [Queue() for _ in range(size)]
        self.answers: list[Queue[Any]] = [Queue() for _ in range(size)]
        self.sent: list[str] = []
        self.hurried = False

    def command(self, name: str, *args: Any, to: int | None = None) -> None:
        self.hurried = False
        self.sent.append(name)
        for rank, orders in enumerate(self.orders):
            if rank and to in (None, rank):
                orders.put((name, args))

    def reports(self) -> list[Any]:
        return [answers.get(timeout=TIMEOUT) for answers in self.answers[1:]]

    def hurry(self) -> None:
        self.hurried = True

    def explained(self, error: Exception) -> ExecutionError:
        return ExecutionError(str(error))

    def close(self) -> None:
        self.command("leave")


class Place:
    """One follower's end."""

    def __init__(self, queues: Queues, rank: int) -> None:
        self.queues = queues
        self.rank = rank

    def receive(self) -> Any:
        return self.queues.orders[self.rank].get(timeout=2 * TIMEOUT)

    def report(self, value: Any) -> None:
        self.queues.answers[self.rank].put(value)

    def is_hurried(self) -> bool:
        return self.queues.hurried

    def close(self) -> None:
        pass


class Ranks:
    """A run on `size` ranks, of which the first is this thread: `loop` is what a session sees."""

    def __init__(self, factories: list[Any], horizon: int = 2048) -> None:
        """One factory for each rank: environments are not shared."""
        from torch import distributed

        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        size, store = len(factories), distributed.HashStore()
        self.queues = Queues(size)
        self.followers: dict[int, Follower] = {}

        def follow(rank: int) -> None:
            crew = Crew(GlooCollective(store, rank, size, TIMEOUT), Place(self.queues, rank))
            self.followers[rank] = Follower(factories[rank], crew, horizon)
            crew.channel.report("built")
            self.followers[rank].follow()

        self.threads = [Thread(lambda rank=rank: follow(rank)) for rank in range(1, size)]
        crew = Crew(GlooCollective(store, 0, size, TIMEOUT), self.queues)
        self.loop: Any = LeadingLoop(open_rank(factories[0], crew, horizon), crew, factories[0])
        self.queues.reports()

    def agents(self) -> list[Any]:
        return [
            self.loop.learner,
            *(self.followers[rank]._agent for rank in sorted(self.followers)),
        ]

    def close(self) -> None:
        self.loop.close()
        for thread in self.threads:
            thread.result()
