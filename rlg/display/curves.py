"""Learning curves of runs, and their mean and spread over seeds.

Nothing is smoothed or filled in unless it is asked for: a mean is drawn only where every seed of
its group has a value, and single runs stay visible beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.errors import SpecError
from rlg.spelling import flat, suggestion
from rlg.tracking.metrics import Row, read_metrics
from rlg.tracking.sweeps import config_of, differing

Floats = NDArray[np.float64]
LOGGED = {"frames": "time/frames", "time": "time/time_elapsed"}
# Which key of a section names it, for `--group-by agent,env`.
NAMES = ("type", "name")
SECTIONS = ("agent", "env", "network", "memory", "optimizer", "policy", "backend", "executor")
IRRELEVANT = ("seed", "logger", "checkpoint", "expected", "plugins")  # to what a run learns
LABELLED = 3  # keys in a label, unless more are needed
COLUMNS = ("runs", "last", "std", "best", "seeds")  # of a group, behind its label
GRID = 200  # points of a mean whose runs were not logged at the same places


@dataclass(frozen=True, slots=True)
class Curve:
    """One metric of one run."""

    run: Path
    config: Mapping[str, Any]  # flat
    x: Floats
    y: Floats

    @property
    def seed(self) -> Any:
        return self.config.get("seed")

    def smoothed(self, points: int) -> Curve:
        """The mean of up to this many last points, at each point."""
        total = np.concatenate([[0.0], np.cumsum(self.y)])
        end = np.arange(1, len(self.y) + 1)
        start = np.maximum(0, end - points)
        return replace(self, y=(total[end] - total[start]) / (end - start))


@dataclass(frozen=True, slots=True)
class CurveGroup:
    """Curves that belong together, such as the seeds of one configuration."""

    label: str
    curves: tuple[Curve, ...]

    @property
    def count(self) -> int:
        return len(self.curves)

    @property
    def has_distinct_seeds(self) -> bool:
        return len({str(curve.seed) for curve in self.curves}) == self.count

    def mean(self) -> tuple[Floats, Floats, Floats]:
        """x, mean and standard deviation (of a sample), where all curves have values."""
        first = max(curve.x[0] for curve in self.curves)
        last = min(curve.x[-1] for curve in self.curves)
        places = {tuple(curve.x[(curve.x >= first) & (curve.x <= last)]) for curve in self.curves}
        x = np.array(places.pop()) if len(places) == 1 else np.linspace(first, last, GRID)
        values = np.stack([np.interp(x, curve.x, curve.y) for curve in self.curves])
        spread = values.std(axis=0, ddof=1) if self.count > 1 else np.zeros_like(x)
        return x, values.mean(axis=0), spread

    def last(self) -> tuple[float, float | None]:
        """Mean and standard deviation of the last values of the curves."""
        values = np.array([curve.y[-1] for curve in self.curves])
        return float(values.mean()), float(values.std(ddof=1)) if self.count > 1 else None

    def cells(self, number: Callable[[float, float], str]) -> list[str]:
        """A row of COLUMNS; `number` makes text of a value, like the one beside it."""
        mean, std = self.last()
        best = float(np.mean([curve.y.max() for curve in self.curves]))
        spread = "" if std is None else number(std, mean)
        seeds = " ".join(str(curve.seed) for curve in self.curves)
        return [self.label, str(self.count), number(mean, mean), spread, number(best, best), seeds]


def runs_in(folders: Iterable[Path]) -> list[Path]:
    """Run folders, given as such or anywhere below the given ones; each once."""
    found: dict[Path, None] = {}
    for folder in folders:
        paths = sorted(folder.rglob("metrics.jsonl"), key=lambda path: _natural(path.parts))
        if not paths:
            raise SpecError(
                f"{folder}: no run with metrics in it. Give folders that `rlg train` named."
            )
        found.update((path.parent, None) for path in paths)
    return list(found)


def read_curves(runs: Sequence[Path], metric: str, axis: str) -> tuple[list[Curve], list[Path]]:
    """Curves of those runs that logged the metric, and the others."""
    curves, without = [], []
    tags: dict[str, None] = {}
    for run in runs:
        rows = read_metrics(run / "metrics.jsonl")
        tags.update((tag, None) for row in rows for tag in row if tag != "step")
        logged = [row for row in rows if metric in row and np.isfinite(row[metric])]
        if not logged:
            without.append(run)
            continue
        steps, values = np.array([(row["step"], row[metric]) for row in logged], float).T
        x = steps if axis == "steps" else _converted(run, rows, steps, axis)
        curves.append(Curve(run, flat(config_of(run)), x, values))
    if not curves:
        raise SpecError(f"--metric {metric}: no run has logged it.{suggestion(metric, tags)}")
    return curves, without


def grouped(curves: Sequence[Curve], by: Sequence[str] | None) -> list[CurveGroup]:
    """Groups by these keys, or by everything in which the runs differ, but for the seed.

    Labels name what differs, the most telling keys first, as few as distinguish the groups.
    """
    configs = [curve.config for curve in curves]
    keys = _differing(configs) if by is None else [_key(name, configs) for name in by]
    found: dict[tuple[str, ...], list[Curve]] = {}
    for curve in curves:
        values = tuple(_text(curve.config.get(key)) for key in keys)
        found.setdefault(values, []).append(curve)
    count = LABELLED if by is None else len(keys)
    while len({values[:count] for values in found}) < len(found):
        count += 1
    groups = []
    for values, members in sorted(found.items(), key=lambda item: _natural(item[0])):
        words = [f"{_short(key)}={value}" for key, value in zip(keys, values, strict=True)]
        label = ", ".join(words[:count]) or common(curves) or "runs"
        groups.append(CurveGroup(label, tuple(members)))
    return groups


def _differing(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The most telling first; without keys that only one of several types of a section has."""
    keys = [key for key in differing(configs) if key.partition(".")[0] not in IRRELEVANT]
    everywhere = set.intersection(*(set(config) for config in configs))
    shared = [
        key for key in keys if key in everywhere or f"{key.rpartition('.')[0]}.type" not in keys
    ]
    return sorted(shared, key=_rank)


def _rank(key: str) -> tuple[bool, int]:
    """Which agent, environment... before their options; both in the order of SECTIONS."""
    section, _, last = key.partition(".")
    order = SECTIONS.index(section) if section in SECTIONS else len(SECTIONS)
    return last not in NAMES, order


def _key(name: str, configs: Sequence[Mapping[str, Any]]) -> str:
    known = dict.fromkeys(key for config in configs for key in config)
    for key in (name, *(f"{name}.{last}" for last in NAMES)):
        if key in known:
            return key
    sections = {key.partition(".")[0] for key in known}
    raise SpecError(
        f"--group-by {name}: the runs have no such key.{suggestion(name, [*known, *sections])}"
    )


def common(curves: Sequence[Curve]) -> str:
    """Agent and environment, as far as all runs have the same: `dqn on cartpole`."""
    values = [{str(c.config.get(key)) for c in curves} for key in ("agent.type", "env.name")]
    shared = [found.pop() for found in values if len(found) == 1]
    return " on ".join(name for name in shared if name != "None")


def _short(key: str) -> str:
    """`backend.type` is `backend` in a legend; other keys keep their last word."""
    section, _, last = key.rpartition(".")
    return section if section and last in NAMES else last or key


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _natural(words: Sequence[str]) -> list[tuple[bool, float, str]]:
    """A key to sort by: numbers by size, then words."""
    found = []
    for word in words:
        try:
            found.append((False, float(word), ""))
        except ValueError:
            found.append((True, 0.0, word))
    return found


def _converted(run: Path, rows: Sequence[Row], steps: Floats, axis: str) -> Floats:
    """Frames, or seconds of training (those between an interruption and its resume don't count)."""
    pairs = [(row["step"], row[LOGGED[axis]]) for row in rows if row.get(LOGGED[axis])]
    if not pairs:
        raise SpecError(
            f"--x {axis}: {run} has not logged {LOGGED[axis]}. Use --x steps, or log it: "
            "logger.interval=..."
        )
    # Before the first and after the last line at the speed between them.
    at, values = np.array([(0.0, 0.0), *pairs]).T
    found: Floats = np.interp(steps, at, values)
    beyond = steps > at[-1]
    found[beyond] = values[-1] + (steps[beyond] - at[-1]) * values[-1] / at[-1]
    return found
