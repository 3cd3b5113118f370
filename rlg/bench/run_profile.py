"""`rlg bench run=FOLDER`: where the time of a run goes, by stage and by component.

The run's own configuration and newest weights go on for some seconds in one process, with clocks
around the stages of the loop and around every graph function. Nothing is written into the run's
folder. TensorFlow compiles whole methods, inside of which no clock can stand: there the stages are
those of the compiled methods, and the shares of components those of a second pass, op by op.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any

from rlg.api.agents.factory import ConfiguredAgents
from rlg.api.config.validate import validate
from rlg.api.folders import run_config
from rlg.bench import machine
from rlg.bench.page import STYLE, image, table
from rlg.bench.tables import seconds as readable
from rlg.bench.times import Times, Watch
from rlg.errors import CheckpointError
from rlg.execution.engines import open_engine
from rlg.execution.roles import Loop, never
from rlg.tracking.checkpoints.store import CheckpointStore
from rlg.tracking.files import to_json, write_atomically
from rlg.tracking.folder import RunFolder
from rlg.tracking.metrics import read_metrics

STARTS = 1_000  # steps before the first update, at most: costs don't depend on what is in a memory
WARM_UP = 3  # rounds with updates before clocks count
LEAST = 0.005  # share of what a table shows
COLUMNS = ("stage, component", "per step", "share", "calls per step", "per call")
WAITING = "ray/learner_waiting"


@dataclass(frozen=True, slots=True)
class RunProfile:
    """What was found, and under which circumstances."""

    run: str
    backend: str
    times: Times
    steps: int
    updates: int
    notes: tuple[str, ...] = ()

    def rows(self, least: float = LEAST) -> list[list[str]]:
        """All names that take a share worth telling."""
        found = []
        for depth, part in self.times.walk():
            share = part.seconds / self.times.seconds
            if share < least:
                continue
            calls = f"{part.calls / self.steps:.3g}" if part.calls else ""
            each = readable(part.seconds / part.calls) if part.calls else ""
            per_step = readable(part.seconds / self.steps)
            found.append([f"{'  ' * depth}{part.name}", per_step, f"{share:.1%}", calls, each])
        return found

    @property
    def title(self) -> str:
        rate = self.steps / self.times.seconds
        ratio = f"{self.updates:,} updates" if self.updates else "no update"
        return (
            f"{self.run} on {self.backend}: {self.steps:,} steps and {ratio} in "
            f"{self.times.seconds:.1f} s, {rate:,.0f} steps/s in one process"
        )

    def write(self, folder: Path) -> Path:
        """`profile.json`, `profile.png` and `profile.html`."""
        from rlg.bench.flames import draw

        content = {
            "run": self.run,
            "backend": self.backend,
            "steps": self.steps,
            "updates": self.updates,
            "notes": list(self.notes),
            "machine": machine.describe(),
            "versions": machine.versions(),
            "times": self.times.as_dict(),
        }
        write_atomically(folder / "profile.json", to_json(content, indent=1) + "\n")
        picture = draw(self.times, self.title, folder / "profile.png")
        path = folder / "profile.html"
        path.write_text(self._page(picture), encoding="utf-8")
        return path

    def _page(self, picture: Path) -> str:
        rows = [[row[0].replace("  ", "\u2003"), *row[1:]] for row in self.rows(0.0)]
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>rlg profile</title><style>{STYLE}</style></head><body>"
            f"<h1>{escape(self.title)}</h1>{notes}{image(picture)}{table(COLUMNS, rows)}"
            "</body></html>\n"
        )


def profile_run(path: Path, seconds: float, *, trust_plugins: bool = False) -> RunProfile:
    """Goes on with a run for so many seconds, and says where they went."""
    folder = RunFolder(path)
    config = validate(run_config(path, imports_plugins=True, trust_plugins=trust_plugins))
    notes = _notes(config, folder)
    model = _model(folder)
    if model is None:
        notes.append("No checkpoint was found: the weights are initial ones.")
    changed = _in_one_process(config)
    backend = str(config["backend"]["type"])
    with machine.watched() as loads:
        if backend == "tf":
            times, steps, updates = _measure(changed, model, seconds / 2, components=False)
            words = {**changed["backend"], "define_by_run": True}
            inner, _, _ = _measure({**changed, "backend": words}, model, seconds / 2)
            _fill(times, inner)
            notes.append("Inside of stages: shares of a second pass, op by op.")
        else:
            times, steps, updates = _measure(changed, model, seconds)
    busy = machine.load_warnings(loads[0], machine.cores(), is_first=True)
    notes += [f"Warning: {text}: take these figures with care." for text in busy]
    return RunProfile(str(path), backend, times, steps, updates, tuple(notes))


def _notes(config: Mapping[str, Any], folder: RunFolder) -> list[str]:
    engine = config["executor"]["type"]
    if engine == "local":
        return []
    notes = [f"The run's engine is {engine}; here its parts take turns in one process."]
    logged = [row[WAITING] for row in read_metrics(folder.metrics) if WAITING in row]
    if logged:
        notes.append(f"In the run itself the learner waited {fmean(logged):.1%} of the time.")
    return notes


def _model(folder: RunFolder) -> Mapping[str, Any] | None:
    try:
        store = CheckpointStore(folder.checkpoints, read_only=True)
        model: Mapping[str, Any] = store.load(sections=["model"]).tree["model"]
    except CheckpointError:
        return None
    return model


def _in_one_process(config: Mapping[str, Any]) -> dict[str, Any]:
    agent = dict(config["agent"])
    if "learning_starts" in agent:
        agent["learning_starts"] = min(agent["learning_starts"], STARTS)
    backend = {**config["backend"], "replicas": 1, "replica_devices": None}
    return {
        **config,
        "agent": agent,
        "executor": {"type": "local"},
        "backend": backend,
    }


def _measure(
    config: Mapping[str, Any],
    model: Mapping[str, Any] | None,
    seconds: float,
    *,
    components: bool = True,
) -> tuple[Times, int, int]:
    watch = Watch()
    with _opened(config, watch if components else None) as loop:
        if model is not None:
            loop.learner.set_model(model)
        loop.start()
        _put_clocks(loop, watch)
        rounds = 0
        while rounds < WARM_UP:
            before = loop.clock.updates
            loop.iterate(never)
            rounds += loop.clock.updates > before
        start, until = loop.clock, time.perf_counter() + seconds
        watch.restart()
        while time.perf_counter() < until:
            loop.iterate(never)
        end = loop.clock
        return watch.stop(), end.steps - start.steps, end.updates - start.updates


@contextmanager
def _opened(config: Mapping[str, Any], watch: Watch | None) -> Iterator[Loop]:
    factory = _Watched(config, watch)
    loop = open_engine(factory, config["executor"], int(config["total_timesteps"]))
    try:
        yield loop
    finally:
        loop.close()


class _Watched(ConfiguredAgents):
    """Agents whose graph functions have clocks."""

    def __init__(self, config: Mapping[str, Any], watch: Watch | None) -> None:
        super().__init__(config)
        self._watch = watch

    def make(self, *roles: Any, **options: Any) -> Any:
        agent = super().make(*roles, **options)
        if self._watch is not None:
            agent.executor.watch = self._watch.component
        return agent


def _put_clocks(loop: Any, watch: Watch) -> None:
    sampler, trainer = loop.pool.sampler, loop.trainer
    sampler.env.step = watch.stage("environment", sampler.env.step)
    sampler.actor.act = watch.stage("act", sampler.actor.act)
    add = sampler.adder.add
    sampler.adder.add = watch.stage("memory", lambda segment: list(add(segment)))
    trainer.absorb = watch.stage("memory", trainer.absorb)
    trainer.learn = watch.stage("learning", trainer.learn)


def _fill(times: Times, inner: Times) -> None:
    """Takes the shares of components inside of stages from another pass."""
    for name, stage in times.parts.items():
        other = inner.parts.get(name)
        if other is not None and other.seconds > 0:
            stage.parts = other.scaled(stage.seconds / other.seconds).parts
