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
from tests.patience import PATIENCE

TIMEOUT = PATIENCE / 2


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


class HorovodInternalError(RuntimeError):
    """Horovod's own error, which is known by its name."""


class Server:
    """What the ranks of a pretended Horovod have in common."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.changed = threading.Condition()
        self.given: dict[Any, dict[int, Any]] = {}
        self.is_down = False


class Horovod:
    """One rank of a pretended Horovod, a thread. As in the real one, what ranks do at once comes
    together if it has the same name; an object without a name gets that of its type.
    """

    __name__ = "horovod.torch"
    Sum, Max = "sum", "max"

    def __init__(self, server: Server, rank: int, timeout: float = TIMEOUT) -> None:
        self._server, self._rank, self._timeout = server, rank, timeout
        self._counts: dict[str, int] = {}

    def init(self) -> None: ...

    def rank(self) -> int:
        return self._rank

    def size(self) -> int:
        return self._server.size

    def _exchange(self, name: str, value: Any) -> list[Any]:
        server, number = self._server, self._counts.get(name, 0)
        self._counts[name] = number + 1
        with server.changed:
            given = server.given.setdefault((name, number), {})
            given[self._rank] = value
            server.changed.notify_all()
            done = server.changed.wait_for(
                lambda: len(given) == server.size or server.is_down, self._timeout
            )
        if len(given) == server.size:
            return [given[rank] for rank in range(server.size)]
        raise HorovodInternalError("shut down" if done else f"a rank is stalled in {name}")

    def allreduce_(self, tensor: Any, op: str, name: str) -> None:
        import torch

        values = torch.stack(self._exchange(f"{op}.{name}", tensor.clone()))
        tensor.copy_(values.sum(0) if op == self.Sum else values.amax(0))

    def broadcast_object(self, value: Any, root_rank: int, name: str | None = None) -> Any:
        name = name or type(value).__name__
        return self._exchange(f"broadcast.{name}", value)[root_rank]

    def allgather_object(self, value: Any, name: str | None = None) -> list[Any]:
        return self._exchange(f"gather.{name or type(value).__name__}", value)

    def shutdown(self) -> None:
        with self._server.changed:
            self._server.is_down = True
            self._server.changed.notify_all()
