"""A checked component as tables and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rlg.cli.tables import Table, print_table
from rlg.graph.drawing.words import short

if TYPE_CHECKING:
    from rlg.testing.check import MethodReport, Report
    from rlg.testing.check.report import Error

_WIDTH = 60  # of spaces
_RESTORED = {True: "ok", False: "failed", None: "-"}


def print_report(report: Report) -> None:
    """Two tables, what is wrong, and one line that sums it up."""
    ran = [about.name for about in report.backends if about.left_out is None]
    columns = ["API method", "inputs -> outputs", *(f"{name} ms" for name in ran)]
    methods = Table([*columns, "error (abs, rel)", "gradients", "verdict"], right=columns[2:])
    for row in report.methods:
        times = [_number(row.milliseconds.get(name)) for name in ran]
        cells = [row.name, _spaces(row), *times, _error(row.error), _gradients(row), row.verdict]
        methods.add(cells, "red" if row.problems else None)
    print_table(methods)
    print()
    titles = ["backend", "assembly ms", "build ms", "plans ms", "components", "variables"]
    builds = Table([*titles, "parameters", "restored"], right=[*titles[1:], "parameters"])
    for about in report.backends:
        phases = (about.assembly, about.build, about.plans)
        sizes = (about.components, about.variables, about.parameters)
        figures = [f"{1_000 * seconds:.1f}" for seconds in phases] + [f"{n:,}" for n in sizes]
        cells = [about.name, *figures, _RESTORED[about.restored]]
        if about.left_out is not None:
            cells = [about.name, *["-"] * 6, "left out"]
        builds.add(cells, "red" if about.problems else None)
    print_table(builds)
    print()
    for about in report.backends:
        if about.left_out is not None:
            print(f"left out: {about.name}: {about.left_out}")
    for name, reason in report.left_out.items():
        print(f"left out: {name}: {reason}")
    for problem in report.problems:
        print(f"failed: {problem}")
    print(summary(report))


def summary(report: Report) -> str:
    """What became of it, in one line."""
    ran = ", ".join(about.name for about in report.backends if about.left_out is None)
    state = "ok" if report.passed else _count(len(report.problems), "problem")
    calls = _count(len(report.methods), "API call")
    return f"{report.name}: {state}: {calls} on {ran}, {report.seconds:.1f} s"


def print_json(content: Any) -> None:
    """Without infinities, which JSON doesn't have: they become null."""
    print(json.dumps(_finite(content), indent=2))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _spaces(row: MethodReport) -> str:
    given = ", ".join(f"{name} {short(space)}" for name, space in row.inputs.items())
    if len(given) > _WIDTH:
        given = f"{given[: _WIDTH - 1]}…"
    return f"{given} -> {'-' if row.outputs is None else short(row.outputs)}".strip()


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _error(error: Error | None) -> str:
    if error is None:
        return "-"
    return f"{_size(error.absolute)}, {_size(error.relative)}" if error.absolute else "0"


def _gradients(row: MethodReport) -> str:
    found = row.gradients
    if found is None or found.error is None:
        return "-" if found is None else found.check
    counts = ((found.variables, "variable"), (found.inputs, "input"))
    parts = " and ".join(_count(number, word) for number, word in counts if number)
    check = found.check.replace("against finite differences on", "and differences on")
    return f"{check}: {parts}, {_size(found.error.relative)}"


def _size(number: float) -> str:
    return f"{number:.0e}" if number else "0"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
