"""A sweep as tables and lines, with colours in a terminal, or as JSON."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence

from rlg.cli.output import print_json, print_table
from rlg.display.readable import duration, short
from rlg.tracking import sweeps

LISTED = 20  # failed jobs
STYLES = {
    sweeps.DONE: "green",
    sweeps.FAILED: "bold red",
    sweeps.KILLED: "yellow",
    sweeps.INTERRUPTED: "yellow",
    sweeps.RUNNING: "cyan",
}


def print_sweep(sweep: sweeps.Sweep) -> None:
    """Prints the jobs, means over seeds, the best, the failed, and what to type next."""
    jobs = [
        (
            str(row.job.number),
            _values(row.job.values),
            row.state,
            f"{row.steps:,}" if row.steps else "",
            _reward(row.last),
            _reward(row.best),
            "" if row.seconds is None else duration(row.seconds),
            short(row.folder),
        )
        for row in sweep.rows
    ]
    columns = ("job", "values", "state", "steps", "last", "best", "time", "folder")
    right = ("job", "steps", "last", "best", "time")
    print_table(columns, jobs, right=right, styles=STYLES)
    groups = [
        (
            _values(group.values) or "all",
            _reward(group.mean),
            _reward(group.std),
            f"{group.done}" if group.done == group.count else f"{group.done} of {group.count}",
        )
        for group in sweep.groups
        if group.count > 1
    ]
    if groups:
        print()
        print_table(
            ("over seeds", "mean reward", "std", "runs"), groups, right=("mean reward", "std")
        )
    print()
    print("\n".join(f"{name and f'{name}:':12}{text}" for name, text in _lines(sweep)))
    sys.stdout.flush()


def print_sweep_json(sweep: sweeps.Sweep) -> None:
    """All figures in full."""
    jobs = [
        {
            "number": row.job.number,
            "values": row.job.values,
            "state": row.state,
            "steps": row.steps,
            "last_reward": row.last,
            "best_reward": row.best,
            "seconds": row.seconds,
            "folder": str(row.folder),
            "error": row.error,
            "hash": row.job.hash,
        }
        for row in sweep.rows
    ]
    groups = [
        {name: getattr(group, name) for name in ("values", "mean", "std", "done", "count")}
        for group in sweep.groups
    ]
    print_json(
        {
            "folder": str(sweep.folder),
            "running": sweep.running,
            "direction": "maximize" if sweep.plan is None else sweep.plan.direction,
            "best": None if sweep.best is None else sweep.best.job.number,
            "jobs": jobs,
            "groups": groups,
            "next": [command for _, command in _next(sweep)],
        }
    )


def _lines(sweep: sweeps.Sweep) -> list[tuple[str, str]]:
    best, failed = sweep.best, sweep.of_state(sweeps.FAILED)
    lines = [("failed", f"{row.job.name}: {row.error}") for row in failed[:LISTED]]
    if len(failed) > LISTED:
        lines.append(("", f"and {len(failed) - LISTED} more; their status.json says why"))
    if best is not None:
        reward = f"mean reward {best.objective:.2f}"
        lines.insert(0, ("best", f"{best.job.name}, {reward}; {short(best.folder)}"))
    return [*lines, *_next(sweep)]


def _next(sweep: sweeps.Sweep) -> list[tuple[str, str]]:
    """Commands that make sense from here."""
    folder = shlex.quote(short(sweep.folder))
    found = []
    undone = sweep.of_state(sweeps.FAILED, sweeps.KILLED, sweeps.INTERRUPTED, sweeps.MISSING)
    if undone and sweep.plan is not None and not sweep.running:
        found.append(("resume", f"rlg sweep {folder} --resume"))
    if sweep.running:
        found.append(("look again", f"rlg sweep {folder}"))
    if sweep.best is not None:
        found.append(("evaluate", f"rlg eval {shlex.quote(short(sweep.best.folder))}"))
    if any(row.last is not None for row in sweep.rows):
        found.append(("compare", f"rlg plot {folder} --output compare.html"))
    return found


def _values(values: Sequence[str]) -> str:
    """Swept overrides with numbers rounded; the folders have them in full."""
    number = re.compile(r"(?<==)-?\d*\.\d{5,}(e-?\d+)?$")
    return " ".join(number.sub(lambda found: f"{float(found[0]):.4g}", word) for word in values)


def _reward(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
