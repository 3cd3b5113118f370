"""Ranks that are connected by Horovod, which `make install-horovod` builds.

Started by this engine, or under `horovodrun`: then each process runs the same command, rank 0 as if
it were alone, and the others follow it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.errors import ExecutionError, SpecError
from rlg.execution.engines.local import open_local
from rlg.execution.engines.ranks.collective import RankLostError
from rlg.execution.engines.ranks.crew import Crew
from rlg.execution.engines.ranks.engine import described, launched
from rlg.execution.engines.ranks.lead import Follower, LeadingLoop
from rlg.execution.engines.ranks.rounds import open_rank
from rlg.execution.engines.settings import STARTED_HERE, is_under_horovodrun, num_ranks
from rlg.execution.roles import AgentFactory, Loop

HERE = "rlg.execution.engines.ranks.horovod"
REPORTED = ("iterate", "export")  # commands that end with a report


def open_horovod(factory: AgentFactory, settings: Mapping[str, Any], horizon: int) -> Loop:
    """Engine `horovod`: ranks on this machine, or those that `horovodrun` has started."""
    check_installed()
    if is_under_horovodrun():
        crew = _joined(factory)
        loop: LeadingLoop = LeadingLoop(open_rank(factory, crew, horizon), crew, factory)
    elif num_ranks(settings) == 1:
        return open_local(factory, {}, horizon)
    else:
        collective = f"{HERE}:by_{'tf' if factory.backend.startswith('tf') else 'torch'}"
        loop = launched(factory, settings, horizon, Rendezvous(num_ranks(settings)), collective)
    loop.description = f"{described(loop, factory)}, gradients averaged by Horovod"
    return loop


def check_installed() -> None:
    if find_spec("horovod") is None:
        raise SpecError(
            "executor=horovod: Horovod is not installed. Build it with `make install-horovod`, or "
            "use executor=ddp, which needs nothing extra."
        )


def follow_horovodrun(factory: AgentFactory, horizon: int) -> None:
    """A rank above 0 under `horovodrun`: does what rank 0 says."""
    crew = _joined(factory)
    follower = Follower(factory, crew, horizon)
    follower.follow()
    follower.close()
    crew.close()


def _joined(factory: AgentFactory) -> Crew:
    # Ranks wait for rank 0 while it evaluates and saves.
    os.environ.setdefault("HOROVOD_STALL_CHECK_DISABLE", "1")
    collective = HorovodCollective(_framework(factory.backend))
    return Crew(collective, Spoken(collective))


class Rendezvous:
    """A meeting place of ranks on one machine: Horovod's own server, on loopback.

    Its `RendezvousServer` would listen on all interfaces, and leave its socket open.
    """

    def __init__(self, size: int) -> None:
        from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
        from horovod.runner.http.http_server import RendezvousHandler, RendezvousHTTPServer

        self._server = RendezvousHTTPServer(("127.0.0.1", 0), RendezvousHandler, 0)
        self._server.init(get_host_assignments(parse_hosts(f"127.0.0.1:{size}"), size))
        self.path: int = self._server.server_address[1]  # a port
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Once they have met, ranks need it no more."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def by_torch(port: int, rank: int, size: int, timeout: float) -> HorovodCollective:
    """One rank of this machine, on torch tensors."""
    _note_place(port, rank, size, timeout)
    return HorovodCollective(_framework("torch"))


def by_tf(port: int, rank: int, size: int, timeout: float) -> HorovodCollective:
    """One rank of this machine, on TensorFlow's tensors."""
    _note_place(port, rank, size, timeout)
    return HorovodCollective(_framework("tf"))


def _note_place(port: int, rank: int, size: int, timeout: float) -> None:
    """Horovod reads it from the environment."""
    seconds = max(2, round(timeout))
    os.environ |= {
        STARTED_HERE: "1",
        "HOROVOD_HOSTNAME": "127.0.0.1",
        "HOROVOD_RANK": str(rank),
        "HOROVOD_SIZE": str(size),
        "HOROVOD_LOCAL_RANK": str(rank),
        "HOROVOD_LOCAL_SIZE": str(size),
        "HOROVOD_CROSS_RANK": "0",
        "HOROVOD_CROSS_SIZE": "1",
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1",
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(port),
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "HOROVOD_GLOO_IFACE": "lo",
        # A rank that hangs: Horovod looks for it, and gives up.
        "HOROVOD_STALL_CHECK_TIME_SECONDS": str(seconds // 2),
        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": str(seconds),
        "HOROVOD_LOG_LEVEL": "fatal",
    }


def _framework(name: str) -> Any:
    if name.startswith("tf"):
        import horovod.tensorflow as hvd
    else:
        import horovod.torch as hvd
    return hvd


class HorovodCollective:
    """By Horovod, through the framework that the run computes with."""

    def __init__(self, hvd: Any) -> None:
        hvd.init()
        self._hvd = hvd
        self._is_torch = hvd.__name__.endswith("torch")
        self.rank: int = hvd.rank()
        self.size: int = hvd.size()

    def mean(self, buffer: NDArray[Any]) -> None:
        self._reduce(buffer, self._hvd.Sum)
        buffer /= self.size

    def most(self, buffer: NDArray[Any]) -> None:
        self._reduce(buffer, self._hvd.Max)

    def _reduce(self, buffer: NDArray[Any], how: Any) -> None:
        with _telling_losses():
            if self._is_torch:
                import torch

                self._hvd.allreduce_(torch.from_numpy(buffer), op=how, name="rlg")
            else:
                import tensorflow as tf

                found = self._hvd.allreduce(tf.constant(buffer), op=how, name="rlg")
                buffer[...] = np.asarray(found)

    # Horovod brings together what has one name. Objects without one get that of their type, which
    # differs between who sends and who receives.
    def broadcast(self, value: Any) -> Any:
        """Rank 0's value, everywhere; anything that can be pickled."""
        with _telling_losses():
            return self._hvd.broadcast_object(value, root_rank=0, name="rlg.broadcast")

    def gather(self, value: Any) -> list[Any]:
        """The values of all ranks, on rank 0; elsewhere nothing."""
        with _telling_losses():
            found: list[Any] = self._hvd.allgather_object(value, name="rlg.gather")
        return found if self.rank == 0 else []

    def close(self) -> None:
        self._hvd.shutdown()
        if STARTED_HERE in os.environ:
            for name in [name for name in os.environ if name.startswith("HOROVOD_")]:
                del os.environ[name]
            del os.environ[STARTED_HERE]


@contextmanager
def _telling_losses() -> Iterator[None]:
    """Horovod's ways to say that a rank is gone, as the one that is expected here."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ in ("HorovodInternalError", "UnknownError", "AbortedError"):
            raise RankLostError(" ".join(str(error).split())) from error
        raise


class Spoken:
    """Both ends of a channel between processes that nobody here has started: by broadcasts."""

    def __init__(self, collective: HorovodCollective) -> None:
        self.collective = collective
        self._is_heard = True  # whether the others wait for a command, on rank 0

    def command(self, name: str, *args: Any, to: int | None = None) -> None:
        self.collective.broadcast((name, args, to))
        self._is_heard = name not in REPORTED

    def receive(self) -> tuple[str, tuple[Any, ...]]:
        while True:
            name, args, to = self.collective.broadcast(None)
            if to in (None, self.collective.rank):
                return name, args

    def reports(self) -> list[Any]:
        found = self.collective.gather(None)[1:]
        self._is_heard = True
        return found

    def report(self, value: Any) -> None:
        self.collective.gather(value)

    def hurry(self) -> None:
        """Nobody can be told in between: others complete what they sample."""

    def is_hurried(self) -> bool:
        return False

    def explained(self, error: Exception) -> ExecutionError:
        return ExecutionError(f"a rank is gone: {error}")

    def close(self) -> None:
        """Rank 0: the others leave. In the middle of a round nobody hears a command, rank 0 would
        wait for ever: then the others see that Horovod shuts down.
        """
        if self.collective.rank == 0 and self._is_heard:
            with suppress(Exception):  # They may be gone.
                self.command("leave")
