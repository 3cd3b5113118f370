"""What a benchmark found, with every sample, as `bench.json` holds it."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from rlg.bench.measuring import Cost
from rlg.errors import SpecError
from rlg.tracking.files import to_json, write_atomically

FORMAT = 1  # of bench.json
FILE = "bench.json"

Kind = Literal["ratio", "difference", "figure"]
Clock = Literal["wall", "cpu"]


class Spread(NamedTuple):
    """A median with its quartiles."""

    low: float
    middle: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Median and quartiles; those of a single value are the value."""
    if len(values) < 2:
        return Spread(values[0], values[0], values[0])
    return Spread(*statistics.quantiles(values, n=4, method="inclusive"))


@dataclass(frozen=True, slots=True)
class Row:
    """One case: what rlg costs, and an opponent in the same rounds.

    `kind` says how they are compared: by ratio, by difference (builds), or not at all (a figure
    without opponent). Ratios are rlg's time over the opponent's: below 1 rlg takes less.
    """

    case: str
    ours: str  # "rlg torch"
    opponent: str  # "by hand"; empty for a figure
    unit: str  # of work: call, step, build, cycle
    costs: tuple[Cost, ...] = ()
    others: tuple[Cost, ...] = ()
    kind: Kind = "ratio"
    clock: Clock = "wall"  # what the comparison goes by
    settings: Mapping[str, Any] = field(default_factory=dict)  # threads, replay ratio, frame skip
    note: str = ""
    missing: str = ""  # why it was not measured, and what to do
    is_ceiling: bool = False  # whether the opponent is what nobody can be faster than
    is_model: bool = False  # calculated from other rows, not measured

    @property
    def key(self) -> tuple[str, str, str]:
        """What names a row within its suite."""
        return self.case, self.ours, self.opponent

    def compared(self, clock: Clock | None = None) -> Spread:
        """Ratio, difference in seconds, or the figure itself in seconds."""
        name = clock or self.clock
        mine = [getattr(cost, name) for cost in self.costs]
        if self.kind == "figure":
            return spread(mine)
        pairs = list(zip(mine, [getattr(cost, name) for cost in self.others], strict=True))
        if self.kind == "difference":
            return spread([a - b for a, b in pairs])
        return spread([a / b if b else float("inf") for a, b in pairs])

    def median(self, whose: Literal["costs", "others"], clock: Clock | None = None) -> float:
        """Seconds per unit."""
        costs: tuple[Cost, ...] = getattr(self, whose)
        return float(statistics.median(getattr(cost, clock or self.clock) for cost in costs))


@dataclass(frozen=True, slots=True)
class Load:
    """What else the machine did while a suite ran."""

    before: float  # load average of one minute
    after: float
    others_before: float = 0.0  # cores that other processes used while this one slept
    others_during: float = 0.0
    seconds: float = 0.0
    cpu_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Suite:
    """The rows of one suite."""

    name: str
    title: str
    rows: tuple[Row, ...]
    load: Load
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one `rlg bench` found."""

    date: str
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    settings: Mapping[str, Any]
    suites: tuple[Suite, ...]

    def write(self, folder: Path) -> Path:
        """Writes `bench.json`."""
        path = folder / FILE
        write_atomically(path, to_json({"format": FORMAT, **asdict(self)}, indent=1) + "\n")
        return path

    @classmethod
    def read(cls, path: Path) -> Self:
        """Reads what `write` wrote."""
        try:
            content = json.loads(path.read_text("utf-8"))
        except OSError as error:
            raise SpecError(f"{path}: {error.strerror}. Give the bench.json of a run.") from error
        except ValueError as error:
            raise SpecError(f"{path}: this is not JSON ({error}).") from error
        found = content.pop("format", None) if isinstance(content, dict) else None
        if found != FORMAT:
            raise SpecError(f"{path}: expected a bench.json of format {FORMAT}, got {found!r}.")
        try:
            suites = tuple(_suite(suite) for suite in content.pop("suites"))
            return cls(**content, suites=suites)
        except (KeyError, TypeError) as error:
            raise SpecError(f"{path}: this is not what rlg bench writes: {error}.") from error


def _suite(content: dict[str, Any]) -> Suite:
    rows = tuple(_row(row) for row in content.pop("rows"))
    warnings, load = tuple(content.pop("warnings")), Load(**content.pop("load"))
    return Suite(**content, rows=rows, load=load, warnings=warnings)


def _row(content: dict[str, Any]) -> Row:
    costs: dict[str, Any] = {
        name: tuple(Cost(*c) for c in content.pop(name)) for name in ("costs", "others")
    }
    return Row(**content, **costs)
