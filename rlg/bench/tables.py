"""Rows as text: what a terminal, a page and a picture show of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from rlg.bench.results import Report, Row, Spread, Suite

COLUMNS = ("case", "rlg on", "rlg", "against", "theirs", "median and spread", "by CPU", "note")
NUMBERS = ("rlg", "theirs", "median and spread", "by CPU")


def table_of(suite: Suite) -> list[list[str]]:
    """All rows; what they have in common stands in `headline`."""
    common = shared(suite)
    return [cells(row, common) for row in suite.rows]


def shared(suite: Suite) -> dict[str, Any]:
    """The settings that all rows have in common."""
    first = dict(suite.rows[0].settings) if suite.rows else {}
    rest = suite.rows[1:]
    return {k: v for k, v in first.items() if all(row.settings.get(k) == v for row in rest)}


def cells(row: Row, common: Mapping[str, Any] = MappingProxyType({})) -> list[str]:
    """The columns of one row; what was not measured says why."""
    if row.missing:
        return [row.case, row.ours, "", row.opponent, "", "not measured", "", row.missing]
    by_cpu = "" if row.clock == "cpu" else compared(row, row.compared("cpu"))
    return [
        row.case,
        row.ours,
        _cost(row, "costs"),
        row.opponent,
        _cost(row, "others") if row.others else "",
        compared(row, row.compared()),
        by_cpu,
        "; ".join(notes(row, common)),
    ]


def notes(row: Row, common: Mapping[str, Any]) -> list[str]:
    """What has to be known beside the figures."""
    found = ["by CPU time"] if row.clock == "cpu" and not row.is_model else []
    found += ["a model, not a measurement"] if row.is_model else []
    found += ["a ceiling"] if row.is_ceiling else []
    found += [_setting(key, row.settings[key]) for key in row.settings if key not in common]
    return found + ([row.note] if row.note else [])


def compared(row: Row, found: Spread) -> str:
    """`1.02x [0.89, 1.20]`, `+17.8 ms [15.7, 19.6]`, or the spread of a figure."""
    if row.kind == "ratio":
        return f"{found.middle:.2f}x [{found.low:.2f}, {found.high:.2f}]"
    if row.kind == "difference":
        return f"{1e3 * found.middle:+.1f} ms [{1e3 * found.low:.1f}, {1e3 * found.high:.1f}]"
    return f"{seconds(found.middle)} [{seconds(found.low)}, {seconds(found.high)}]"


def seconds(value: float) -> str:
    """Three digits and a unit: `147 us`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(value) >= size:
            return (
                f"{value / size:.3g} {unit}"
                if value < 1000 * size
                else f"{value / size:.0f} {unit}"
            )
    return f"{value * 1e6:.2f} us"


def _cost(row: Row, whose: str) -> str:
    """The median of one side, and its rate where work is counted in steps."""
    assert whose in ("costs", "others")
    side = row.median(whose, row.clock)  # type: ignore[arg-type]
    text = f"{seconds(side)}/{row.unit}" if row.unit else seconds(side)
    if row.unit != "step" or row.kind == "figure":
        return text
    rate = 1.0 / max(row.median(whose, "wall"), 1e-12)  # type: ignore[arg-type]
    return f"{text}, {rate:,.0f}/s"


def headline(suite: Suite) -> str:
    """A suite's name, how long it took and how busy the machine was."""
    load, common = suite.load, [_setting(*item) for item in shared(suite).items()]
    facts = "".join(f"; {text}" for text in common)
    return (
        f"{suite.name}: {suite.title} ({load.seconds:.0f} s, {load.cpu_seconds:.0f} s of CPU, load "
        f"average {load.before:.1f} before and {load.after:.1f} after){facts}"
    )


def _setting(key: str, value: Any) -> str:
    return f"{key.replace('_', ' ')} {f'{value:g}' if isinstance(value, float) else value}"


def warnings(report: Report) -> Iterable[str]:
    """Of all suites; and whether the run was cut off."""
    if report.is_partial:
        found = f"{report.finished} of {report.settings['processes']} processes"
        yield f"a partial report: {found} have measured everything"
    for suite in report.suites:
        yield from (f"{suite.name}: {text}" for text in suite.warnings)
