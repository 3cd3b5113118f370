"""What a benchmark found, with every sample, as `bench.json` holds it."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from rlg.bench.measuring import Cost
from rlg.errors import SpecError
from rlg.tracking.files import to_json, write_atomically

FORMAT = 2  # of bench.json; files of format 1 have rows of one process and are read too
FILE = "bench.json"
# Shares of a figure: what a spread never falls below, by luck, and what processes are known to
# differ by when only one was asked.
LEAST, ONE_PROCESS = 0.01, 0.05
STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)  # 97.5 %, from 2 values on

Kind = Literal["ratio", "difference", "figure"]
Clock = Literal["wall", "cpu"]


class Spread(NamedTuple):
    """A median, and between what the median of another run is expected."""

    low: float
    middle: float
    high: float


def spread(groups: Sequence[Sequence[float]], size: float | None = None) -> Spread:
    """Median and spread of samples by process; `size` is what the least spread is a share of.

    Memory layout, hash seeds and placement differ from process to process and not within one, so
    rounds of one process say little about the next. The medians of processes are independent: with
    95 % the median of as many others is no farther away than this. (Student's t for the difference
    of two medians, each with up to 1.5 times the variance of a mean.)
    """
    middles = [statistics.median(group) for group in groups]
    middle, count = statistics.median(middles), len(middles)
    size = abs(middle) if size is None else size
    if count == 1:
        values, least = groups[0], ONE_PROCESS * size
        low, _, high = (
            statistics.quantiles(values, n=4, method="inclusive")
            if len(values) > 1
            else [middle] * 3
        )
        return Spread(min(low, middle - least), middle, max(high, middle + least))
    student = STUDENT[min(count, len(STUDENT) + 1) - 2]
    half = max(student * statistics.stdev(middles) * math.sqrt(3 / count), LEAST * size)
    return Spread(middle - half, middle, middle + half)


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
    processes: tuple[int, ...] = ()  # how many of the samples each process took, in order

    @property
    def key(self) -> tuple[str, str, str]:
        """What names a row within its suite."""
        return self.case, self.ours, self.opponent

    def compared(self, clock: Clock | None = None) -> Spread:
        """Ratio, difference in seconds, or the figure itself in seconds."""
        size = self.median("costs", clock) if self.kind == "difference" else None
        return spread(self.samples(clock), size)

    def samples(self, clock: Clock | None = None) -> list[Sequence[float]]:
        """The same round by round, in a list for each process."""
        name = clock or self.clock
        mine = [getattr(cost, name) for cost in self.costs]
        if self.kind == "figure":
            return self._by_process(mine)
        pairs = list(zip(mine, [getattr(cost, name) for cost in self.others], strict=True))
        if self.kind == "difference":
            return self._by_process([a - b for a, b in pairs])
        return self._by_process([a / b if b else float("inf") for a, b in pairs])

    def _by_process(self, values: Sequence[float]) -> list[Sequence[float]]:
        ends = [sum(self.processes[: n + 1]) for n in range(len(self.processes))] or [len(values)]
        return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]

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

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """From what `asdict` made of it."""
        rows = tuple(_row(row) for row in content.pop("rows"))
        warnings, load = tuple(content.pop("warnings")), Load(**content.pop("load"))
        return cls(**content, rows=rows, load=load, warnings=warnings)


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one `rlg bench` found."""

    date: str
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    settings: Mapping[str, Any]
    suites: tuple[Suite, ...]
    finished: int | None = None  # processes that measured all suites; None: all of them

    @property
    def is_partial(self) -> bool:
        """Whether processes were still to come, or still to finish, when it was written."""
        return self.finished is not None and self.finished < self.settings["processes"]

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
        if found not in (1, FORMAT):
            raise SpecError(f"{path}: expected a bench.json of format {FORMAT}, got {found!r}.")
        try:
            suites = tuple(map(Suite.from_json, content.pop("suites")))
            return cls(**content, suites=suites)
        except (KeyError, TypeError) as error:
            raise SpecError(f"{path}: this is not what rlg bench writes: {error}.") from error


def _row(content: dict[str, Any]) -> Row:
    samples: dict[str, Any] = {
        name: tuple(Cost(*c) for c in content.pop(name)) for name in ("costs", "others")
    }
    processes = tuple(content.pop("processes", ()))
    return Row(**content, **samples, processes=processes)


def joined(passes: Sequence[Suite]) -> Suite:
    """What several processes found of one suite, as one."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for suite in passes:
        for row in suite.rows:
            found.setdefault(row.key, []).append(row)
    first, loads = passes[0], [suite.load for suite in passes]
    load = Load(
        loads[0].before,
        loads[-1].after,
        max(load.others_before for load in loads),
        max(load.others_during for load in loads),
        sum(load.seconds for load in loads),
        sum(load.cpu_seconds for load in loads),
    )
    return replace(first, rows=tuple(map(_joined, found.values())), load=load)


def _joined(rows: Sequence[Row]) -> Row:
    measured = [row for row in rows if row.costs]
    if not measured:
        return rows[0]
    if measured[0].is_model:  # its note belongs to its figures: that of the process in the middle
        return sorted(measured, key=lambda row: row.median("costs"))[(len(measured) - 1) // 2]
    whys = [
        f"not in {len(rows) - len(measured)} of {len(rows)} processes ({row.missing})"
        for row in rows
        if row.missing
    ]
    return replace(
        measured[0],
        costs=tuple(cost for row in measured for cost in row.costs),
        others=tuple(cost for row in measured for cost in row.others),
        processes=tuple(len(row.costs) for row in measured),
        note="; ".join(text for text in (measured[0].note, *whys[:1]) if text),
    )
