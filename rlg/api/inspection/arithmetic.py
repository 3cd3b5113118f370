"""What a configuration comes to: steps, updates, bytes; and what about it makes no sense.

The figures follow the loop in `rlg.execution.local` exactly, so a reader can compare two settings
without running either.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from rlg.display.readable import size as in_bytes


@dataclass(frozen=True, slots=True)
class Figure:
    """One number about a run, under a name for programs and in a line for people."""

    name: str
    value: Any
    line: str


@dataclass(slots=True)
class Report:
    """The figures, and sentences on what looks like a mistake."""

    figures: list[Figure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, name: str, value: Any, line: str) -> None:
        self.figures.append(Figure(name, value, line))

    def values(self) -> dict[str, Any]:
        return {figure.name: figure.value for figure in self.figures}


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds of the replay loop: whole vector steps, then updates."""

    size: int  # environment steps of one
    count: int
    first_update: int  # the round with the first one, from 1 on; more than `count`: never

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Rounds:
        """As `ReplayLoop` and `DQNAgent` count; an n-step window needs its later steps first."""
        agent, num_envs = config["agent"], config["env"]["num_envs"]
        depth = max(1, agent["train_freq"] // num_envs)
        size = depth * num_envs
        waiting = agent.get("n_step", 1) - 1
        needed = _ceil(agent["learning_starts"], num_envs) + waiting
        count = _ceil(config["total_timesteps"], size)
        return cls(size, count, max(1, _ceil(needed, depth)))

    @property
    def steps(self) -> int:
        """Environment steps of all."""
        return self.size * self.count

    @property
    def learning(self) -> int:
        """How many of them learn."""
        return max(0, self.count - self.first_update + 1)

    def crossings(self, interval: int) -> int:
        """How often a multiple of the interval, or the end, is reached."""
        if not interval:
            return 0
        whole = self.count if self.size > interval else self.steps // interval
        ends_apart = self.steps // interval == (self.steps - self.size) // interval
        return whole + int(ends_apart)

    def syncs(self, interval: int) -> int:
        """Copies into the target network: at the first update that is late enough, then again."""
        first = max(self.first_update, _ceil(interval, self.size))
        return 0 if first > self.count else 1 + (self.count - first) // _ceil(interval, self.size)


def report_on(config: Mapping[str, Any]) -> Report:
    """The figures of a validated configuration."""
    found = Report()
    if {"train_freq", "gradient_steps", "learning_starts"} <= set(config["agent"]):
        rounds = Rounds.of(config)
        _add_learning(found, config, rounds)
        _add_visits(found, config, rounds)
    _add_frames(found, config)
    _add_memory(found, config)
    _check_threads(found, config)
    return found


def _add_learning(found: Report, config: Mapping[str, Any], rounds: Rounds) -> None:
    agent, num_envs = config["agent"], config["env"]["num_envs"]
    depth, steps = rounds.size // num_envs, agent["gradient_steps"]
    ratio = steps * agent["batch_size"] / rounds.size
    start = rounds.first_update * rounds.size
    updates = rounds.learning * steps
    found.add(
        "steps_per_iteration",
        rounds.size,
        f"iteration: {_n(rounds.size)} steps ({num_envs} environments x {depth}), then "
        f"{_n(steps)} update{'s' * (steps > 1)} of {_n(agent['batch_size'])} transitions",
    )
    found.add("updates_per_iteration", steps, "")
    found.add(
        "samples_trained_per_sample_collected",
        ratio,
        f"samples trained per sample collected: {ratio:.4g}",
    )
    found.add(
        "iterations",
        rounds.count,
        f"whole run: {_n(rounds.count)} iterations, {_n(rounds.steps)} steps, "
        f"{_n(updates)} updates",
    )
    found.add("steps", rounds.steps, "")
    found.add("updates", updates, "")
    when = f"at step {_n(start)}" if rounds.learning else "never"
    found.add("first_update_at", start if rounds.learning else None, f"learning starts: {when}")
    _add_exploration(found, config)
    syncs = rounds.syncs(agent["target_update_interval"])
    share = "" if agent["tau"] == 1 else f", each takes over {agent['tau']:g} of the weights"
    found.add("target_syncs", syncs, f"copies into the target network: {_n(syncs)}{share}")
    _check_learning(found, config, rounds, syncs)


def _add_exploration(found: Report, config: Mapping[str, Any]) -> None:
    agent = config["agent"]
    if agent.get("exploration") is not None:
        found.add("exploration_ends_at", None, "exploration: as agent.exploration says")
    elif "exploration_fraction" in agent:
        span = config["schedule_timesteps"] or config["total_timesteps"]
        end = round(agent["exploration_fraction"] * span)
        first, last = agent["exploration_initial_eps"], agent["exploration_final_eps"]
        line = (
            f"exploration: a share of {first:g} random actions at first, {last:g} from step "
            f"{_n(end)} on"
        )
        found.add("exploration_ends_at", end, line)


def _check_learning(found: Report, config: Mapping[str, Any], rounds: Rounds, syncs: int) -> None:
    agent, memory = config["agent"], config["memory"]
    starts, total = agent["learning_starts"], config["total_timesteps"]
    num_envs, size = config["env"]["num_envs"], memory.get("buffer_size")
    if not rounds.learning:
        found.warnings.append(
            f"agent.learning_starts={starts} is not reached in total_timesteps={total}: nothing "
            "will be learnt."
        )
    elif not syncs:
        found.warnings.append(
            f"agent.target_update_interval={agent['target_update_interval']} is longer than the "
            f"run of {total} steps: the target network stays as it began."
        )
    if size is not None and size < min(starts, total):
        found.warnings.append(
            f"memory.buffer_size={size} is smaller than agent.learning_starts={starts}: the first "
            "transitions are overwritten before anything is learnt."
        )
    if agent["train_freq"] != rounds.size:
        found.warnings.append(
            f"agent.train_freq={agent['train_freq']} is no multiple of env.num_envs={num_envs}: "
            f"an iteration has {rounds.size} steps."
        )
    if agent.get("exploration") is None and (
        agent.get("exploration_final_eps", 0) > agent.get("exploration_initial_eps", 1)
    ):
        found.warnings.append(
            "agent.exploration_final_eps is larger than agent.exploration_initial_eps: "
            "exploration grows."
        )


def _add_visits(found: Report, config: Mapping[str, Any], rounds: Rounds) -> None:
    """Evaluations and checkpoints."""
    evaluation, checkpoint = config["evaluation"], config["checkpoint"]
    count = rounds.crossings(evaluation["interval"])
    episodes = count * evaluation["episodes"]
    found.add("evaluations", count, f"evaluations: {_n(count)} ({_n(episodes)} episodes)")
    saved = max(1, rounds.crossings(checkpoint["interval"]))
    kept = saved if checkpoint["keep"] is None else min(saved, checkpoint["keep"])
    found.add("checkpoints", saved, f"checkpoints: {_n(saved)} written, {_n(kept)} kept")
    found.add("checkpoints_kept", kept, "")
    if evaluation["stop_at"] is not None and not count:
        found.warnings.append(
            f"evaluation.stop_at={evaluation['stop_at']:g} needs evaluations, but "
            "evaluation.interval is 0."
        )


def _add_frames(found: Report, config: Mapping[str, Any]) -> None:
    skip, total = config["env"].get("frame_skip", 1), config["total_timesteps"]
    line = f"frames: {_n(skip * total)} ({skip} for each step)" if skip > 1 else ""
    found.add("frames", skip * total, line)


def _add_memory(found: Report, config: Mapping[str, Any]) -> None:
    """Bytes of the experience, against what is free."""
    from rlg.api.inspection.footprint import memory_bytes

    size = memory_bytes(config)
    if size is None:
        return
    free = psutil.virtual_memory().available
    disk = shutil.disk_usage(Path.cwd()).free
    line = f"memory: {in_bytes(size)} of experience; {in_bytes(free)} are free"
    found.add("memory_bytes", size, line)
    found.add("free_bytes", free, "")
    if size > 0.9 * free:
        found.warnings.append(
            f"memory.buffer_size={config['memory'].get('buffer_size')} takes {in_bytes(size)}, "
            f"but only {in_bytes(free)} are free."
        )
    kept = found.values().get("checkpoints_kept", 1)
    if config["checkpoint"]["memory"] and size * (kept + 1) > disk:
        found.warnings.append(
            f"checkpoints hold the experience: {kept} of {in_bytes(size)} and one being written, "
            f"but only {in_bytes(disk)} are free on the disk. Write checkpoint.memory=false."
        )


def _check_threads(found: Report, config: Mapping[str, Any]) -> None:
    threads, cores = config["backend"].get("threads"), len(os.sched_getaffinity(0))
    if threads is not None and threads > cores:
        found.warnings.append(
            f"backend.threads={threads} is more than the {cores} cores that this process may use."
        )


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def _n(value: int) -> str:
    return f"{value:,}"
