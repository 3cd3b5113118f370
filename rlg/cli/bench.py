"""`rlg bench`: what rlg costs on this machine, beside named opponents."""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlg.api.phases import DONE, FAILED
from rlg.cli.flags import TrustPlugins
from rlg.cli.output import print_table
from rlg.errors import SpecError
from rlg.spelling import unknown

if TYPE_CHECKING:
    from rlg.bench.results import Report

KEYS = ("bench", "run", "seconds", "pairs", "block", "backends", "processes")
FAILURE = "failed: "
SECONDS = 20.0  # of a profile


def bench(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE",
            help="bench=act,memory (suites, or all), pairs=5, processes=4, block=0.02, "
            "backends=torch,tf; or run=FOLDER, seconds=20.",
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="More pairs, more sizes.")] = False,
    compare: Annotated[
        Path | None, typer.Option(help="An earlier bench.json: exit 1 if something got slower.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A folder; default outputs/bench/...")
    ] = None,
    trust_plugins: TrustPlugins = False,
) -> int:
    """Measure throughput against named opponents: rlg bench bench=act,memory.

    Without arguments all suites but `devices` and `impala` run in their quick form, in less than
    three minutes on two quiet cores. `bench=all` adds them, and opponents that live in an
    environment of their own (make bench-peers). The folder has bench.json with every sample,
    pictures and report.html.

    `run=FOLDER` says where the time of a run goes instead: by stage and by component.
    """
    given = _read(words or [])
    folder = output or Path("outputs", "bench", datetime.now().strftime("%Y-%m-%d/%H-%M-%S"))
    if "run" in given:
        return _profile(given, folder, trust_plugins=trust_plugins)
    if "seconds" in given:
        raise SpecError("seconds: belongs to run=FOLDER.")
    from rlg.bench.results import Report
    from rlg.bench.suites import SUITES, chosen

    names = chosen(given.get("bench"))
    old = None if compare is None else Report.read(compare)
    folder.mkdir(parents=True, exist_ok=True)
    from rlg.bench.running import Settings, run_suites

    options = {key: value for key, value in given.items() if key != "bench"}
    settings = Settings(full=full, peers="bench" in given, **options)
    say = partial(print, file=sys.stderr, flush=True)
    report = _measure(run_suites(names, settings, say), folder)
    if "bench" not in given and (left := [name for name in SUITES if name not in names]):
        print(f"left out:   {', '.join(left)}: bench={','.join(left)}, or bench=all")
    has_failed = any(row.missing.startswith(FAILURE) for s in report.suites for row in s.rows)
    is_slower = old is not None and _judge(old, report)
    return FAILED if has_failed or is_slower else DONE


def _measure(reports: Generator[Report, None, None], folder: Path) -> Report:
    """Writes what there is after each suite, pages after each process, and all of it at the end or
    when it is interrupted.
    """
    report: Report | None = None
    finished: int | None = 0
    try:
        with closing(reports):
            for report in reports:
                report.write(folder)
                if report.finished != finished and report.is_partial:
                    finished = report.finished
                    _write(report, folder)
    finally:
        if report is not None:
            _write(report, folder)
            _show(report, folder)
    assert report is not None
    return report


def _profile(given: Mapping[str, Any], folder: Path, *, trust_plugins: bool) -> int:
    """Prints and writes where the time of a run goes."""
    others = [key for key in given if key not in ("run", "seconds")]
    if others:
        raise SpecError(f"run: a profile of a run takes no {others[0]}. It takes seconds.")
    from rlg.bench.run_profile import COLUMNS, profile_run

    seconds = given.get("seconds", SECONDS)
    print(f"profile of {given['run']}: about {seconds:g} s", file=sys.stderr, flush=True)
    found = profile_run(Path(given["run"]), seconds, trust_plugins=trust_plugins)
    folder.mkdir(parents=True, exist_ok=True)
    path = found.write(folder)
    print(found.title)
    print_table(COLUMNS, found.rows(), right=COLUMNS[1:])
    for note in found.notes:
        print(f"note:       {note}")
    print(f"\nresults:    {path.with_suffix('.json')}\nreport:     {path}")
    return DONE


def _read(words: Sequence[str]) -> dict[str, Any]:
    """The values of `key=value`, checked."""
    from rlg.api.config.signatures import converted
    from rlg.bench.running import BACKENDS

    kinds = {"pairs": int, "processes": int, "block": float, "seconds": float}
    found: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise SpecError(f"'{word}' is not of the form key=value. Keys: {', '.join(KEYS)}.")
        if key not in KEYS:
            raise SpecError(unknown("key", key, KEYS))
        found[key] = converted(value, kinds.get(key, str), key)
        if key in kinds and not 0 < found[key] < 1e6:
            raise SpecError(f"{key}: must be above 0, got {value}.")
    if "backends" in found:
        found["backends"] = tuple(found["backends"].split(","))
        for name in found["backends"]:
            if name not in BACKENDS:
                raise SpecError(f"backends: {unknown('backend', name, BACKENDS)}")
    return found


def _write(report: Report, folder: Path) -> None:
    """All files."""
    from rlg.bench import page, pictures
    from rlg.tracking.files import write_atomically

    report.write(folder)
    drawn = {suite.name: pictures.draw(suite, folder) for suite in report.suites}
    write_atomically(folder / page.FILE, page.page(report, drawn))


def _show(report: Report, folder: Path) -> None:
    """Prints the tables."""
    from rlg.bench import page, results, tables

    for suite in report.suites:
        print(f"\n{tables.headline(suite)}")
        print_table(tables.COLUMNS, tables.table_of(suite), right=tables.NUMBERS)
    for text in tables.warnings(report):
        print(f"warning:    {text}: take these figures with care")
    print(f"\nresults:    {folder / results.FILE}\nreport:     {folder / page.FILE}")


def _judge(old: Report, new: Report) -> bool:
    """Prints what changed; returns whether something got slower."""
    from rlg.bench.verdicts import COLUMNS, differences, verdicts

    found = verdicts(old, new)
    styles = {"slower": "red", "faster": "green"}
    print()
    print_table(COLUMNS, [verdict.cells for verdict in found], styles=styles)
    for text in differences(old, new):
        print(f"warning:    another machine: {text}")
    slower = [verdict for verdict in found if verdict.word == "slower"]
    judged = [verdict for verdict in found if verdict.earlier is not None]
    inside = sum(verdict.is_inside for verdict in judged)
    print(f"slower:     {len(slower)} of {len(found)} rows")
    print(
        f"inside:     {inside} of {len(judged)} medians are in the earlier spread; 95 % should be"
    )
    return bool(slower)
