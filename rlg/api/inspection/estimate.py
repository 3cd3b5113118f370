"""Estimates steps, updates and memory of a run, and warns of what makes no sense.

The figures follow the loops in `rlg.execution` exactly, so a reader can compare two settings
without running either.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from rlg.api.agents.agent import Agent
from rlg.api.agents.factory import agent_of
from rlg.api.config.environments import spaces_of
from rlg.api.config.sections import replica_count
from rlg.backends.numpy.executor import NumpyExecutor
from rlg.display.readable import counted
from rlg.display.readable import size as in_bytes
from rlg.errors import RLGError
from rlg.execution.cadence import Cadence
from rlg.execution.engines.settings import num_ranks, num_workers
from rlg.graph import registry
from rlg.graph.components.schedules.factory import make_schedule

_PROBES = (256, 512)  # records of small memories; bytes grow in a straight line between them


@dataclass(slots=True)
class Report:
    """Numbers about a run, and sentences on what looks like a mistake."""

    figures: dict[str, tuple[Any, str]] = field(default_factory=dict)  # for programs, for people
    warnings: list[str] = field(default_factory=list)

    def add(self, name: str, value: Any, line: str = "") -> None:
        self.figures[name] = value, line

    def values(self) -> dict[str, Any]:
        return {name: value for name, (value, _) in self.figures.items()}

    def lines(self) -> list[str]:
        return [line for _, line in self.figures.values() if line]


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds of a loop: a task of the sampler, then the updates that are due."""

    size: int  # environment steps of one
    count: int

    @property
    def steps(self) -> int:
        """Environment steps of all."""
        return self.size * self.count

    def crossings(self, interval: int) -> int:
        """How often a multiple of the interval, or the end, is reached."""
        if not interval:
            return 0
        whole = self.count if self.size > interval else self.steps // interval
        ends_apart = self.steps // interval == (self.steps - self.size) // interval
        return whole + int(ends_apart)


@dataclass(frozen=True, slots=True)
class Replay:
    """The updates of the replay loop: those of a cadence, once the first records are complete."""

    cadence: Cadence
    at: NDArray[np.int64]  # environment steps after the rounds that learn

    @classmethod
    def of(cls, rounds: Rounds, cadence: Cadence, num_envs: int, window: int) -> Replay:
        """A record of `window` steps needs as many of each environment."""
        steps = np.arange(1, rounds.count + 1, dtype=np.int64) * rounds.size
        ready = (steps >= cadence.starts) & (steps >= window * num_envs)
        due = np.where(ready, (steps - cadence.starts) // cadence.train_freq + 1, 0)
        return cls(cadence, steps[np.diff(due, prepend=0) > 0])

    @property
    def updates(self) -> int:
        """Of the whole run."""
        cadence = self.cadence
        if not self.at.size:
            return cadence.base
        since = int(self.at[-1]) - cadence.starts
        return cadence.base + (since // cadence.train_freq + 1) * cadence.gradient_steps

    def syncs(self, interval: int) -> int:
        """Copies into the target network: at the first update behind each multiple."""
        multiples = np.unique(self.at // interval)
        return int((multiples > 0).sum())


def report_on(config: Mapping[str, Any]) -> Report:
    """The figures of a validated configuration."""
    found = Report()
    agent = agent_of(config, *spaces_of(config["env"]))
    num_envs, total = config["env"]["num_envs"], config["total_timesteps"]
    steps, ranks = agent.task_steps(num_envs), num_ranks(config["executor"])
    num_envs *= ranks
    if "batches" in agent.loops:  # An update learns from the segments of all workers.
        num_envs *= num_workers(config["executor"])
    size = steps * num_envs * getattr(agent, "batch_rollouts", 1)
    rounds = Rounds(size, -(-total // size))
    replay = None
    if "replay" in agent.loops:
        # Who begins with demonstrations waits for no window.
        window = 1 if "demonstrations" in config["agent"] else config["agent"].get("n_step", 1)
        cadence = replace(agent.cadence, train_freq=agent.cadence.train_freq * ranks)
        replay = Replay.of(rounds, cadence, num_envs, window)
    _add_rounds(found, config["agent"], num_envs, rounds, replay, ranks)
    if size >= 2 * total:
        found.warnings.append(
            f"an iteration has {size:,} steps, so the run takes these instead of "
            f"total_timesteps={total}. Lower env.num_envs or the agent's steps per iteration."
        )
    if replay is not None:
        _add_learning(found, config, replay)
    _add_visits(found, config, rounds)
    _add_schedules(found, config)
    skip = config["env"].get("frame_skip", 1)
    line = f"frames: {skip * total:,} ({skip} for each step)" if skip > 1 else ""
    found.add("frames", skip * total, line)
    if "memory" in config:
        _add_memory(found, config, agent)
    _add_threads(found, config)
    return found


def _add_threads(found: Report, config: Mapping[str, Any]) -> None:
    """Warnings about threads and replicas."""
    threads, replicas = config["backend"].get("threads"), replica_count(config["backend"])
    cores, words = len(os.sched_getaffinity(0)), f"backend.threads={threads}"
    if replicas > 1:
        words += f" for each of backend.replicas={replicas}"
    if threads is not None and threads * replicas > cores:
        found.warnings.append(f"{words} is more than the {cores} cores that this process may use.")


def _add_rounds(
    found: Report,
    agent: Mapping[str, Any],
    num_envs: int,
    rounds: Rounds,
    replay: Replay | None,
    ranks: int,
) -> None:
    """Iterations: those of replay learn by a cadence, on-policy ones make one update each.

    Batches and minibatches are those of one rank.
    """
    batch, each, updates, of, ratio = agent.get("batch_size"), 1.0, rounds.count, "", None
    if replay is not None:
        gradient_steps, train_freq = replay.cadence.gradient_steps, replay.cadence.train_freq
        each, updates = gradient_steps * rounds.size / train_freq, replay.updates
        of = "" if batch is None else f" of {batch:,} transitions"
        ratio = None if batch is None else gradient_steps * batch * ranks / train_freq
    elif {"n_epochs", "batch_size"} <= set(agent):
        parts = max(1, rounds.size // ranks // agent["batch_size"])
        of = f" of {agent['n_epochs']} epochs, {parts:,} minibatches each"
    line = f"{rounds.size:,} steps ({num_envs} environments x {rounds.size // num_envs}), then "
    line += f"{each:,.4g} update{'s' * (each != 1)}{of}{' on each rank' * (ranks > 1)}"
    found.add("steps_per_iteration", rounds.size, f"iteration: {line}")
    found.add("updates_per_iteration", each)
    if ratio is not None:
        found.add("samples_trained_per_sample_collected", ratio, f"replay ratio: {ratio:.4g}")
    parts_of_run = ((rounds.count, "iteration"), (rounds.steps, "step"), (updates, "update"))
    line = ", ".join(counted(number, noun) for number, noun in parts_of_run)
    found.add("iterations", rounds.count, f"whole run: {line}")
    found.add("steps", rounds.steps)
    found.add("updates", updates)


def _add_learning(found: Report, config: Mapping[str, Any], replay: Replay) -> None:
    """When replay learns, explores and copies its weights, and what makes no sense about it."""
    agent, total = config["agent"], config["total_timesteps"]
    start = int(replay.at[0]) if replay.at.size else None
    when = "never" if start is None else f"at step {start:,}"
    found.add("first_update_at", start, f"learning starts: {when}")
    _add_exploration(found, config)
    starts, size = replay.cadence.starts, config.get("memory", {}).get("buffer_size")
    interval = agent.get("target_update_interval")
    syncs = None if interval is None else replay.syncs(interval)
    if syncs is not None:
        tau = agent.get("tau", 1)
        share = "" if tau == 1 else f", each takes over {tau:g} of the weights"
        found.add("target_syncs", syncs, f"copies into the target network: {syncs:,}{share}")
    if not replay.updates and "learning_starts" in agent:
        found.warnings.append(
            f"agent.learning_starts={starts} is not reached in total_timesteps={total}: nothing "
            "will be learned."
        )
    elif syncs == 0:
        found.warnings.append(
            f"agent.target_update_interval={interval} is longer than the run of {total} steps: "
            "the target network stays as it began."
        )
    if size is not None and size < min(starts, total):
        found.warnings.append(
            f"memory.buffer_size={size} is smaller than agent.learning_starts={starts}: the first "
            "transitions are overwritten before anything is learned."
        )


def _add_exploration(found: Report, config: Mapping[str, Any]) -> None:
    agent = config["agent"]
    if agent.get("exploration") is not None:
        found.add("exploration_ends_at", None, "epsilon: as agent.exploration says")
    elif "exploration_fraction" in agent:
        end = round(agent["exploration_fraction"] * config["total_timesteps"])
        first, last = agent["exploration_initial_eps"], agent["exploration_final_eps"]
        line = f"epsilon: {first:.2g} to {last:.2g} by step {end:,}"
        found.add("exploration_ends_at", end, line)
        if last > first:
            found.warnings.append(
                "agent.exploration_final_eps is larger than agent.exploration_initial_eps: "
                "exploration grows."
            )


def _add_schedules(found: Report, config: Mapping[str, Any]) -> None:
    """Warnings about points of time in steps, where shares of the run are meant."""
    for section, key in (("agent", "exploration"), ("optimizer", "learning_rate")):
        value = config.get(section, {}).get(key)
        last = 0.0 if value is None else getattr(make_schedule(value), "points", [(0.0,)])[-1][0]
        if last > 1:
            found.warnings.append(
                f"{section}.{key} has a point at time {last:g}, after the end of the run: times "
                "are shares of it, from 0 to 1."
            )


def _add_visits(found: Report, config: Mapping[str, Any], rounds: Rounds) -> None:
    """Evaluations and checkpoints."""
    evaluation, checkpoint = config["evaluation"], config["checkpoint"]
    count = rounds.crossings(evaluation["interval"])
    episodes = count * evaluation["episodes"]
    found.add("evaluations", count, f"evaluations: {count:,} ({episodes:,} episodes)")
    saved = max(1, rounds.crossings(checkpoint["interval"]))
    kept = saved if checkpoint["keep"] is None else min(saved, checkpoint["keep"])
    found.add("checkpoints", saved, f"checkpoints: {saved:,} written, {kept:,} kept")
    found.add("checkpoints_kept", kept)
    if evaluation["stop_at"] is not None and not count:
        found.warnings.append(
            f"evaluation.stop_at={evaluation['stop_at']:g} needs evaluations, but "
            "evaluation.interval is 0."
        )


def _add_memory(found: Report, config: Mapping[str, Any], agent: Agent) -> None:
    """Bytes of the replay data, against what is free."""
    size = memory_bytes(config["memory"], agent)
    if size is None:
        return
    free = psutil.virtual_memory().available
    disk = shutil.disk_usage(Path.cwd()).free
    line = f"memory: {in_bytes(size)} of replay data; {in_bytes(free)} are free"
    found.add("memory_bytes", size, line)
    found.add("free_bytes", free)
    if size > 0.9 * free:
        found.warnings.append(
            f"memory.buffer_size={config['memory'].get('buffer_size')} takes {in_bytes(size)}, "
            f"but only {in_bytes(free)} are free."
        )
    kept = found.values().get("checkpoints_kept", 1)
    if config["checkpoint"]["memory"] and size * (kept + 1) > disk:
        found.warnings.append(
            f"checkpoints hold the replay data: {kept} of {in_bytes(size)} and one being written, "
            f"but only {in_bytes(disk)} are free on the disk. Write checkpoint.memory=false."
        )


def memory_bytes(memory: Mapping[str, Any], agent: Agent) -> int | None:
    """Bytes of all its variables; None where the agent has no memory of records.

    Measured on small ones instead of computed: what a memory keeps (frames once, priorities, flags)
    is its own business.
    """
    size = memory.get("buffer_size")
    records = agent.record_space()
    if size is None or records is None:
        return None
    try:
        small, large = (_measured({**memory, "buffer_size": n}, records) for n in _PROBES)
    except RLGError:
        return None
    slope = (large - small) / (_PROBES[1] - _PROBES[0])
    return int(small + slope * (size - _PROBES[0]))


def _measured(spec: Mapping[str, Any], records: Any) -> int:
    executor = NumpyExecutor()
    executor.build(registry.make(spec), {"records": records}, apis=["insert"])
    return executor.nbytes()
