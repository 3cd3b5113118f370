"""Contenders of the suite `devices`, each in a process of its own: one update on one batch.

TensorFlow takes the number of its logical devices once per process, and ranks are processes anyway.
`opponents/serve.py` calls `make`.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.bench.suites.models import ACTIONS, HIDDEN, STATES, dqn, records
from rlg.graph.components.optimizers.average import Average, Averaging
from rlg.graph.spaces import FloatBox

CPUS = ["CPU:0", "CPU:1"]
Update = Callable[[], object]


def make(who: str, kind: str, batch: int, updates: int) -> Callable[[], dict[str, Any]]:
    """Blocks of that many updates; what a block tells is seconds in parts of it."""
    make_update, words = CONTENDERS[who]
    parts: dict[str, float] = {}
    run = make_update(kind, batch, parts, **words)

    def block() -> dict[str, Any]:
        parts.clear()
        run(updates)
        return {"steps": updates, **parts}

    return block


def data(kind: str, size: int) -> Mapping[str, Any]:
    """A batch of transitions, the same in every process."""
    found: Mapping[str, Any] = records(kind).sample(np.random.default_rng(0), batch=size)
    return found


# -- rlg -------------------------------------------------------------------------------------------
def learner(
    backend: str, kind: str, others: Averaging | None = None, **words: Any
) -> GraphExecutor:
    """The part of a DQN that learns from given batches."""
    executor = make_executor(backend, threads=1, **words)
    root: Any = dqn(kind, 1000)
    if others is not None:
        root.optimizer.average = Average(others)
    spaces = {"records": records(kind), "learning_rate": FloatBox(ranks="")}
    executor.build(root, spaces, apis=["update_from"])
    return executor


def replicas(
    kind: str, size: int, parts: dict[str, float], *, backend: str, **words: Any
) -> Callable[[int], None]:
    """rlg in one process."""
    executor, batch = learner(backend, kind, **words), data(kind, size)
    if executor.replicas > 1 and backend == "torch":
        # Inside of TensorFlow's graph they are operations like others.
        for name in ("cut", "average"):
            setattr(executor, name, clocked(getattr(executor, name), parts, name))
    return partial(_repeat, lambda: executor.execute("update_from", batch))


def clocked(function: Callable[..., Any], parts: dict[str, float], name: str) -> Any:
    """The function, which adds its seconds up."""

    def call(*args: Any) -> Any:
        started = time.perf_counter()
        found = function(*args)
        parts[name] = parts.get(name, 0.0) + time.perf_counter() - started
        return found

    return call


# -- two processes ---------------------------------------------------------------------------------
def ranks(kind: str, size: int, parts: dict[str, float]) -> Callable[[int], None]:
    """rlg as two ranks of the engine `ddp`, each with half of the batch."""
    return Pair(_rank, kind, size // 2, parts=parts)


def _rank(rank: int, store: str, kind: str, size: int, parts: dict[str, float]) -> Update:
    from rlg.execution.engines.ranks.crew import Crew
    from rlg.execution.engines.ranks.engine import gloo

    nobody: Any = None  # commands: both only average
    crew = Crew(gloo(store, rank, 2, 300.0), nobody)
    crew.collective.mean = clocked(crew.collective.mean, parts, "allreduce")  # type: ignore[method-assign]
    executor, batch = learner("torch", kind, crew), data(kind, size)
    return lambda: executor.execute("update_from", batch)


def data_parallel(kind: str, size: int, parts: dict[str, float]) -> Callable[[int], None]:
    """torch's DistributedDataParallel with two processes."""
    return Pair(_data_parallel, kind, size // 2, parts=parts)


def _data_parallel(rank: int, store: str, kind: str, size: int, parts: dict[str, float]) -> Update:
    import torch
    from torch import distributed

    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    meeting = distributed.FileStore(store, 2)  # type: ignore[attr-defined]
    distributed.init_process_group("gloo", store=meeting, rank=rank, world_size=2)
    return _by_hand(kind, size, others=True)


class Pair:
    """Work in this process and in another one, together."""

    def __init__(self, work: Callable[..., Update], *args: Any, parts: dict[str, float]) -> None:
        context = multiprocessing.get_context("spawn")
        self._folder = TemporaryDirectory(prefix="rlg-bench-")
        store = str(Path(self._folder.name) / "store")
        self._end, other = context.Pipe()
        words = (other, work, store, args)
        context.Process(target=_follow, args=words, daemon=True).start()
        other.close()
        self._update = work(0, store, *args, parts)

    def __call__(self, updates: int) -> None:
        self._end.send(updates)
        _repeat(self._update, updates)
        self._end.recv()  # The other is done too.


def _follow(connection: Any, work: Callable[..., Update], store: str, args: Any) -> None:
    update = work(1, store, *args, {})
    while True:
        try:
            updates = connection.recv()
        except EOFError:
            return
        _repeat(update, updates)
        connection.send(None)


# -- by hand ---------------------------------------------------------------------------------------
def by_hand(kind: str, size: int, parts: dict[str, float]) -> Callable[[int], None]:
    """The same module of torch in one process."""
    return partial(_repeat, _by_hand(kind, size, others=False))


def _by_hand(kind: str, size: int, *, others: bool) -> Update:
    from rlg.bench.handwritten_ddp import Learner

    hand, batch = (
        Learner(STATES[kind].shape, HIDDEN[kind], ACTIONS, others=others),
        data(kind, size),
    )
    return lambda: hand.update(batch)


def mirrored(kind: str, size: int, parts: dict[str, float]) -> Callable[[int], None]:
    """TensorFlow's MirroredStrategy on two logical devices of the CPU."""
    import tensorflow as tf

    from rlg.backends.tf.devices import provide

    provide(CPUS)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(len(CPUS))
    from rlg.bench.handwritten_mirrored import Learner

    hand, batch = Learner(STATES[kind].shape, HIDDEN[kind], ACTIONS, CPUS), data(kind, size)
    return partial(_repeat, lambda: hand.update(batch))


def _repeat(update: Update, updates: int) -> None:
    for _ in range(updates):
        update()


CONTENDERS: dict[str, tuple[Callable[..., Callable[[int], None]], dict[str, Any]]] = {
    "rlg torch, 1 replica": (replicas, {"backend": "torch"}),
    "rlg torch, 2 replicas": (replicas, {"backend": "torch", "replica_devices": ["cpu", "cpu"]}),
    "rlg torch, 2 ranks": (ranks, {}),
    "rlg tf, 1 replica": (replicas, {"backend": "tf"}),
    "rlg tf, 2 replicas": (replicas, {"backend": "tf", "replica_devices": CPUS}),
    "by hand, torch": (by_hand, {}),
    "DistributedDataParallel": (data_parallel, {}),
    "MirroredStrategy": (mirrored, {}),
}
