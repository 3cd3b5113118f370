"""The engines by name, and the loops that each of them offers: `executor.type`.

An engine gets the agent's factory, puts samplers and trainer where they run, and returns the loop.
It knows nothing of the algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from rlg.errors import SpecError
from rlg.execution.engines.settings import (
    LocalSettings,
    RankSettings,
    RaySettings,
    TFClusterSettings,
)
from rlg.execution.roles import AgentFactory, Loop


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """Where an engine is, and its loops."""

    path: str
    loops: tuple[str, ...]
    settings: type = LocalSettings
    check: str = ""  # a function that raises if something it needs is not installed
    backends: tuple[str, ...] = ()  # that it needs; (): any


ENGINES = {
    "local": EngineEntry(
        "rlg.execution.engines.local:open_local",
        ("replay", "batches", "actor_learner", "gradients"),
    ),
    "threads": EngineEntry(
        "rlg.execution.engines.threads:open_threads", ("replay", "batches", "actor_learner")
    ),
    "ray": EngineEntry(
        "rlg.execution.engines.ray.engine:open_ray",
        ("sharded_replay", "batches", "actor_learner", "gradients"),
        RaySettings,
    ),
    "ddp": EngineEntry(
        "rlg.execution.engines.ranks.engine:open_ddp", ("replay", "batches"), RankSettings
    ),
    "horovod": EngineEntry(
        "rlg.execution.engines.ranks.horovod:open_horovod",
        ("replay", "batches"),
        RankSettings,
        "rlg.execution.engines.ranks.horovod:check_installed",
    ),
    "tf_cluster": EngineEntry(
        "rlg.execution.engines.tf_cluster.engine:open_tf_cluster",
        ("fused_actor_learner",),
        TFClusterSettings,
        backends=("tf-graph",),
    ),
}


def choose_loop(engine: str, agent: str, loops: tuple[str, ...]) -> str:
    """The first of an agent's loops that the engine offers."""
    offered = ENGINES[engine].loops
    for loop in loops:
        if loop in offered:
            return loop
    able = [f"executor={name}" for name, e in ENGINES.items() if set(loops) & set(e.loops)]
    advice = f"Use {' or '.join(able)}." if able else "No engine offers one of them."
    raise SpecError(
        f"executor: {engine} offers the loops {', '.join(offered)}, but agent {agent} runs on "
        f"{', '.join(loops)}. {advice}"
    )


def check_engine(name: str) -> None:
    """Refuses an engine that can't run here, before a run has a folder."""
    if ENGINES[name].check:
        _found(ENGINES[name].check)()


def check_backend_of(engine: str, backend: str) -> None:
    """Refuses a backend that the engine can't run on."""
    needed = ENGINES[engine].backends
    if needed and backend not in needed:
        options = " or ".join(f"backend={name.replace('-', '_')}" for name in needed)
        raise SpecError(
            f"backend.type: executor={engine} runs on {' or '.join(needed)}, not on {backend}. "
            f"Write {options}, or leave the backend out."
        )


def open_engine(factory: AgentFactory, settings: Mapping[str, Any], horizon: int) -> Loop:
    """The loop of a run, on the engine that `settings.type` names."""
    loop: Loop = _found(ENGINES[settings["type"]].path)(factory, settings, horizon)
    return loop


def _found(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)
