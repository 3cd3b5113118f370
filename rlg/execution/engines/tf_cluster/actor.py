"""The process of an actor task: `python -m ... CONNECTION PARENT`, or a run of its own.

It rolls out until the learner closes its queue. A learner that is gone may come back: the actor
looks for it, and begins new episodes with it. As a child it ends with its parent.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from rlg.errors import ClosedError, DisconnectedError, ExecutionError, RLGError, SpecError
from rlg.execution.engines.ranks.follower import end_with
from rlg.execution.engines.settings import actor_task
from rlg.execution.engines.tf_cluster.tasks import ACTOR, Tasks, is_listening, keep_quiet
from rlg.execution.fused_roles import FusedActor
from rlg.execution.roles import AgentFactory

WATCH = 0.2  # seconds between looks for the learner
COMPLAINT = "rlg actor: "  # before what a parent is to tell of an actor that failed


@dataclass(frozen=True, slots=True)
class Setup:
    """What an actor starts from."""

    factory: AgentFactory
    tasks: Tasks
    index: int
    salt: int  # of another start than the first one: other episodes, other draws
    patience: float  # seconds that it looks for the learner

    @property
    def stream(self) -> str:
        """The name of its draws."""
        return f"actor/{self.salt}" if self.salt else "actor"


def act(setup: Setup) -> None:
    """Rolls out until the learner wants no more."""
    keep_quiet()
    factory, index = setup.factory, setup.index
    server = setup.tasks.server(ACTOR, index, 1)
    place = setup.tasks.place(ACTOR, index, server.target)
    count = len(setup.tasks.actors)
    actor: FusedActor = factory.make(
        "fused_actor", index=index, count=count, stream=setup.stream, place=place
    )
    with factory.make_env(index, setup.salt) as env:
        while True:
            await_learner(actor, setup.tasks.learner, setup.patience)
            actor.begin(env)
            try:
                while True:
                    actor.rollout()
            except DisconnectedError:
                actor.executor.reconnect()
            except ClosedError as error:
                # A step that was cancelled since its learner died is no queue that was closed.
                if "queue" in str(error).lower():
                    return
                actor.executor.reconnect()


def await_learner(actor: FusedActor, address: str, patience: float) -> None:
    """Until the learner has published its weights."""
    deadline = time.monotonic() + patience
    reason = "nobody listens there"
    while time.monotonic() < deadline:
        if is_listening(address):
            try:
                if actor.published() >= 0:
                    return
                reason = "it has not begun"
            except ExecutionError as error:  # not initialised yet, or gone again
                reason = str(error)
                actor.executor.reconnect()
        time.sleep(WATCH)
    raise ExecutionError(f"no learner at {address} for {patience:g} s: {reason}")


def setup_of(factory: AgentFactory, settings: Mapping[str, Any]) -> Setup:
    """That of an actor task that was started by itself, on its own machine."""
    index, tasks = actor_task(settings), Tasks.for_task(settings)
    assert index is not None
    if index >= len(tasks.actors):
        raise SpecError(f"executor.task: the cluster has {len(tasks.actors)} actors; count from 0.")
    # A start of its own each time: what it played before, it played already.
    salt = int.from_bytes(os.urandom(4), "little") >> 1
    return Setup(factory, tasks, index, salt, settings["patience"])


def main() -> None:
    connection, parent = Connection(int(sys.argv[1])), int(sys.argv[2])
    end_with(parent)
    # Signals of a terminal or a scheduler reach all tasks: the learner answers them.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    try:
        sys.path += [path for path in connection.recv() if path not in sys.path]
        data = connection.recv_bytes()
        threading.Thread(target=_leave, args=(connection,), daemon=True).start()
        setup: Setup = pickle.loads(data)
        act(setup)
    except (EOFError, ConnectionError):
        os._exit(0)
    except BaseException as error:  # noqa: BLE001 whatever it is, the learner has to tell it
        said = str(error) if isinstance(error, RLGError) else f"{type(error).__name__}: {error}"
        sys.stderr.write(f"{COMPLAINT}{' '.join(said.split())}\n")
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)  # Servers don't end by themselves.


def _leave(connection: Connection) -> None:
    """Ends this process when its parent closes the connection, whatever it is doing."""
    try:
        connection.recv()
    except (EOFError, OSError):
        os._exit(0)


if __name__ == "__main__":
    main()
