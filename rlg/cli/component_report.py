"""Checked components as tables, lines and JSON: one, or all that are registered."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rlg.api.phases import DONE, FAILED
from rlg.cli.exits import explain
from rlg.cli.output import print_json, print_table
from rlg.cli.waiting import waiting
from rlg.display.readable import counted
from rlg.graph.drawing.words import short
from rlg.testing.asked.question import question_of, registered_without_default, settings_of
from rlg.testing.check import BACKENDS, MethodReport, Report, check_component
from rlg.testing.goldens import GOLDENS, Golden

# Sessions trace the same plans once more: they are left to checks of single components.
OF_ALL = ("numpy", "torch", "tf")
_WIDTH = 60  # of spaces
_RESTORED = {True: "ok", False: "failed", None: "-"}


def check_one(
    words: Sequence[str], backends: Sequence[str] | None, folder: Path | None, *, as_json: bool
) -> int:
    """Checks the component that the words name; returns the exit code."""
    question, names = question_of(words, folder), backends or BACKENDS
    with waiting(f"checking on {', '.join(names)}..."):
        report = check_component(
            question.golden, names, statics=question.statics, **question.settings
        )
    print_json(report.to_dict()) if as_json else _print(report)
    return DONE if report.passed else FAILED


def check_all(words: Sequence[str], backends: Sequence[str] | None, *, as_json: bool) -> int:
    """Checks all with their default arguments and spaces; returns the exit code."""
    settings = settings_of(words)
    names, started = backends or OF_ALL, time.perf_counter()
    found: list[dict[str, Any]] = []
    for number, golden in enumerate(GOLDENS, start=1):
        found.append(_checked(golden, names, settings))
        if not as_json:
            _print_line(f"[{number:3}/{len(GOLDENS)}]", found[-1])
    failed = [golden.name for golden, one in zip(GOLDENS, found, strict=True) if one["problems"]]
    seconds, left_out = time.perf_counter() - started, registered_without_default()
    if as_json:
        content = {"passed": not failed, "failed": failed, "left_out": left_out}
        print_json({**content, "seconds": seconds, "components": found})
        return FAILED if failed else DONE
    if left_out:
        print(f"left out, as they have no golden with default spaces: {', '.join(left_out)}")
    print(f"{len(found) - len(failed)} of {len(found)} ok on {', '.join(names)}, {seconds:.0f} s")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return FAILED if failed else DONE


def _checked(golden: Golden, names: Sequence[str], settings: dict[str, Any]) -> dict[str, Any]:
    """The report; whatever a component raises is its own problem."""
    try:
        return check_component(golden, names, brief=True, **settings).to_dict()
    except Exception as error:  # noqa: BLE001 the others are to be checked too
        line, _ = explain(error)
        return {"component": golden.name, "passed": False, "problems": [line], "seconds": 0.0}


def _print_line(count: str, result: dict[str, Any]) -> None:
    state = "ok" if result["passed"] else "failed"
    print(f"{count} {result['component']:26} {state:6} {result['seconds']:6.2f} s", flush=True)
    for problem in result["problems"]:
        print(f"    {problem}", flush=True)


def _print(report: Report) -> None:
    """Two tables, what is wrong, and one line that sums it up."""
    ran = [about.name for about in report.backends if about.left_out is None]
    columns = ["API method", "inputs -> outputs", *(f"{name} ms" for name in ran)]
    calls = [
        [row.name, _spaces(row), *_times(row, ran), _error(row), _gradients(row), row.verdict]
        for row in report.methods
    ]
    print_table([*columns, "error (abs, rel)", "gradients", "verdict"], calls, right=columns[2:])
    print()
    times, sizes = ("assembly", "build", "plans"), ("components", "variables", "parameters")
    figures = [*(f"{name} ms" for name in times), *sizes]
    builds = [
        [
            about.name,
            *(f"{1_000 * getattr(about, name):.1f}" for name in times),
            *(f"{getattr(about, name):,}" for name in sizes),
            _RESTORED[about.restored],
        ]
        if about.left_out is None
        else [about.name, *["-"] * len(figures), "left out"]
        for about in report.backends
    ]
    print_table(["backend", *figures, "restored"], builds, right=figures)
    print()
    left_out = {one.name: one.left_out for one in report.backends if one.left_out is not None}
    for name, reason in {**left_out, **report.left_out}.items():
        print(f"left out: {name}: {reason}")
    for problem in report.problems:
        print(f"failed: {problem}")
    state = "ok" if report.passed else counted(len(report.problems), "problem")
    made = counted(len(report.methods), "API call")
    print(f"{report.name}: {state}: {made} on {', '.join(ran)}, {report.seconds:.1f} s")


def _spaces(row: MethodReport) -> str:
    given = ", ".join(f"{name} {short(space)}" for name, space in row.inputs.items())
    if len(given) > _WIDTH:
        given = f"{given[: _WIDTH - 1]}…"
    return f"{given} -> {'-' if row.outputs is None else short(row.outputs)}".strip()


def _times(row: MethodReport, backends: Sequence[str]) -> list[str]:
    known = row.milliseconds
    return [f"{known[name]:.3f}" if name in known else "-" for name in backends]


def _error(row: MethodReport) -> str:
    if row.error is None:
        return "-"
    sizes = f"{_size(row.error.absolute)}, {_size(row.error.relative)}"
    return sizes if row.error.absolute else "0"


def _gradients(row: MethodReport) -> str:
    found = row.gradients
    if found is None or found.error is None:
        return "-" if found is None else found.check
    counts = ((found.variables, "variable"), (found.inputs, "input"))
    parts = " and ".join(counted(number, word) for number, word in counts if number)
    check = found.check.replace("against finite differences on", "and differences on")
    return f"{check}: {parts}, {_size(found.error.relative)}"


def _size(number: float) -> str:
    return f"{number:.0e}" if number else "0"
