"""The tasks of a cluster: addresses, servers, and the place of each task's graph."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rlg.errors import ExecutionError, SpecError

LEARNER, ACTOR = "learner", "actor"
# The learner's part of the graph, by scopes below the root; actors have the rest for themselves.
SHARED = ("policy", "rollouts", "version")
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2", "GRPC_VERBOSITY": "ERROR"}
PORTS = range(20_000, 32_000)
EXAMPLE = "{learner: 'host1:4000', actors: ['host2:4000', 'host3:4000']}"


@dataclass(frozen=True, slots=True)
class Tasks:
    """The addresses of all tasks, host:port."""

    learner: str
    actors: tuple[str, ...]

    @classmethod
    def on_this_machine(cls, count: int) -> Tasks:
        """On ports that are free now."""
        found = [f"127.0.0.1:{port}" for port in free_ports(count + 1)]
        return cls(found[0], tuple(found[1:]))

    @classmethod
    def for_task(cls, settings: Mapping[str, Any]) -> Tasks:
        """As configured, for a task that is started by itself."""
        if settings["cluster"] is None:
            raise SpecError(
                "executor.task: one task by itself needs the addresses of all of them. Write "
                "executor.cluster=..., or leave executor.task out."
            )
        return cls.of(settings["cluster"])

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Tasks:
        """From a configuration."""
        learner, actors = given.get("learner"), given.get("actors")
        is_list = isinstance(actors, Sequence) and not isinstance(actors, str)
        if set(given) != {"learner", "actors"} or not isinstance(learner, str) or not is_list:
            raise SpecError(f"executor.cluster: got {dict(given)}. Write it as {EXAMPLE}.")
        found = cls(learner, tuple(map(str, actors or ())))
        for address in (found.learner, *found.actors):
            host, colon, port = address.rpartition(":")
            if not (host and colon and port.isdigit() and 0 < int(port) < 2**16):
                raise SpecError(f"executor.cluster: {address!r} is not of the form host:port.")
        if not found.actors or len({found.learner, *found.actors}) <= len(found.actors):
            raise SpecError(
                "executor.cluster: expected a learner and at least one actor, each with an address "
                f"of its own. Write it as {EXAMPLE}."
            )
        return found

    def server(self, job: str, index: int, threads: int | None) -> Any:
        """The server of one task, in this process; it listens on all addresses of the machine.
        With `threads` for each operation; None: TensorFlow decides.
        """
        import tensorflow as tf

        # The learner has one more for operations: it answers others during an update. Threads that
        # look for work while there is none take the core from those that compute.
        others = 1 if job == LEARNER else 0
        config = tf.compat.v1.ConfigProto(
            intra_op_parallelism_threads=threads or 0,
            inter_op_parallelism_threads=threads + others if threads else 0,
        )
        config.experimental.disable_thread_spinning = True
        spec = {LEARNER: [self.learner], ACTOR: list(self.actors)}
        try:
            return tf.compat.v1.train.Server(spec, job, index, config=config)
        except tf.errors.OpError as error:
            address = self.learner if job == LEARNER else self.actors[index]
            reason = " ".join(str(error.message).split())
            raise ExecutionError(
                f"executor: no server for {job} {index} at {address}: {reason}"
            ) from None

    def place(self, job: str, index: int, target: str, device: str = "CPU:0") -> dict[str, Any]:
        """Options of a graph executor: where it runs, what it owns, and whom it sees."""
        task, learner = f"/job:{job}/task:{index}", f"/job:{LEARNER}/task:0"
        shared = {} if job == LEARNER else dict.fromkeys((f"agent/{s}" for s in SHARED), learner)
        return {
            "device": f"{task}/device:{device}",
            "devices": shared,
            "target": target,
            "task": task,
            "filters": (learner,) if job == LEARNER else (learner, task),
        }


def is_listening(address: str, timeout: float = 2.0) -> bool:
    """Whether somebody answers there. A session that is opened to nobody would never return."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=timeout).close()
    except OSError:
        return False
    return True


def free_ports(count: int) -> list[int]:
    """Different ones that nobody listens on, on any address: TensorFlow takes them all.

    A task listens seconds later. So they are below those that the system gives to whoever connects.
    """
    found: list[int] = []
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        if len(found) == count:
            break
        with socket.socket() as each, suppress(OSError):
            each.bind(("", port))
            found.append(port)
    return found


def keep_quiet() -> None:
    """Before TensorFlow is imported: its own lines go to nobody's terminal."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
