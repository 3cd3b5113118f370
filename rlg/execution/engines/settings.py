"""What each engine can be told: the keys of `executor` in a configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rlg.graph.limits import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """One process.

    `actor_backend`: another backend for acting than the learner's, which gets its weights.
    """

    type: str = "local"
    actor_backend: Literal["numpy", "torch", "tf"] | None = None


@dataclass(frozen=True, slots=True)
class RaySettings:
    """Many processes, on this machine or (`address`) on a cluster; conf/executor/ray.yaml explains
    the keys.
    """

    type: str = "ray"
    actor_backend: Literal["numpy", "torch", "tf"] | None = None
    address: str | None = None
    num_workers: PositiveInt | None = None
    num_shards: PositiveInt = 1
    task_steps: PositiveInt | None = None
    pack: PositiveInt | None = None
    timeout: PositiveFloat = 60.0
    worker_cpus: NonNegativeFloat = 1.0
    object_store_gb: PositiveFloat = 1.0
    evaluator: bool = True


@dataclass(frozen=True, slots=True)
class RankSettings:
    """Processes that learn together, each with environments of its own; conf/executor/ddp.yaml
    explains the keys.
    """

    type: str = "ddp"
    num_ranks: PositiveInt | None = None
    timeout: PositiveFloat = 60.0
    restarts: NonNegativeInt = 0


@dataclass(frozen=True, slots=True)
class TFClusterSettings:
    """Tasks of a TensorFlow cluster: a learner and actors; conf/executor/tf_cluster.yaml explains
    the keys.
    """

    type: str = "tf_cluster"
    num_actors: PositiveInt | None = None
    cluster: Mapping[str, str | Sequence[str]] | None = None
    task: str | None = None
    timeout: PositiveFloat = 60.0
    patience: PositiveFloat = 300.0


# In the environment of ranks that the engine `horovod` has started itself.
STARTED_HERE = "RLG_HOROVOD"


def is_under_horovodrun() -> bool:
    """Whether this process is one of those that `horovodrun` started."""
    return "HOROVOD_RANK" in os.environ and STARTED_HERE not in os.environ


def actor_task(settings: Mapping[str, Any]) -> int | None:
    """Which actor of a TensorFlow cluster this process is, if it is one and nothing else."""
    task = settings.get("task") if settings["type"] == "tf_cluster" else None
    found = re.fullmatch(r"actor/(\d+)", task or "")
    return None if found is None else int(found[1])


def is_follower(settings: Mapping[str, Any]) -> bool:
    """Whether `horovodrun` started this process to follow another one, which has the run folder."""
    is_rank = settings["type"] == "horovod" and is_under_horovodrun()
    return is_rank and os.environ["HOROVOD_RANK"] != "0"


def num_ranks(settings: Mapping[str, Any]) -> int:
    """Processes that learn together: as configured, or one per core."""
    if "num_ranks" not in settings:
        return 1
    if settings["type"] == "horovod" and is_under_horovodrun():
        return int(os.environ["HOROVOD_SIZE"])
    return settings["num_ranks"] or len(os.sched_getaffinity(0))


def num_workers(settings: Mapping[str, Any]) -> int:
    """Processes that sample: on Ray as configured, or one per core but one."""
    if settings["type"] != "ray":
        return 1
    return settings["num_workers"] or max(1, (os.cpu_count() or 2) - 1)
