"""The table of a sweep: with colours in a terminal, plain elsewhere, or as JSON."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from rlg.cli.tables import Table, print_table
from rlg.display.readable import short
from rlg.tracking.files import plain
from rlg.tracking.sweeps.rows import (
    DONE,
    FAILED,
    INTERRUPTED,
    KILLED,
    MISSING,
    RUNNING,
    Group,
    Row,
    Sweep,
)

LISTED = 20  # failed jobs
STYLES = {
    DONE: "green",
    FAILED: "bold red",
    KILLED: "yellow",
    INTERRUPTED: "yellow",
    RUNNING: "cyan",
}


def print_sweep(sweep: Sweep) -> None:
    """Prints the jobs, means over seeds, the best, the failed, and what to type next."""
    print_table(_jobs(sweep))
    groups = [group for group in sweep.groups if group.count > 1]
    if groups:
        print()
        print_table(_over_seeds(groups))
    print()
    print("\n".join(_lines(sweep)))
    sys.stdout.flush()


def _jobs(sweep: Sweep) -> Table:
    table = Table(
        ("job", "values", "state", "steps", "last", "best", "time", "folder"),
        right={"job", "steps", "last", "best", "time"},
        styled="state",
    )
    for row in sweep.rows:
        cells = (
            str(row.job.number),
            shown(row.job.values),
            row.state,
            f"{row.steps:,}" if row.steps else "",
            _reward(row.last),
            _reward(row.best),
            _time(row.seconds),
            short(row.folder),
        )
        table.add(cells, STYLES.get(row.state))
    return table


def _over_seeds(groups: list[Group]) -> Table:
    table = Table(("over seeds", "mean reward", "std", "runs"), right={"mean reward", "std"})
    for group in groups:
        done = len(group.rewards)
        table.add(
            (
                shown(group.values) or "all",
                _reward(group.mean if done else None),
                _reward(group.std),
                f"{done}" if done == group.count else f"{done} of {group.count}",
            )
        )
    return table


def _lines(sweep: Sweep) -> list[str]:
    lines = []
    best = sweep.best
    if best is not None:
        reward = f"mean reward {best.objective:.2f}"
        lines.append(f"best:       {best.job.name}, {reward}; {short(best.folder)}")
    failed = sweep.of_state(FAILED)
    lines += [f"failed:     {row.job.name}: {row.error}" for row in failed[:LISTED]]
    if len(failed) > LISTED:
        lines.append(f"            and {len(failed) - LISTED} more; their status.json says why")
    return [*lines, *(f"{what + ':':12}{command}" for what, command in _next(sweep))]


def _next(sweep: Sweep) -> list[tuple[str, str]]:
    """Commands that make sense from here."""
    folder = shlex.quote(short(sweep.folder))
    found = []
    undone = sweep.of_state(FAILED, KILLED, INTERRUPTED, MISSING)
    if undone and sweep.plan is not None and not sweep.running:
        found.append(("resume", f"rlg sweep {folder} --resume"))
    if sweep.running:
        found.append(("look again", f"rlg sweep {folder}"))
    if sweep.best is not None:
        found.append(("evaluate", f"rlg eval {shlex.quote(short(sweep.best.folder))}"))
    if any(row.last is not None for row in sweep.rows):
        found.append(("compare", f"rlg plot {folder} --output compare.html"))
    return found


def as_json(sweep: Sweep) -> str:
    """All figures in full."""
    best = sweep.best
    content = {
        "folder": str(sweep.folder),
        "running": sweep.running,
        "direction": "maximize" if sweep.plan is None else sweep.plan.direction,
        "best": None if best is None else best.job.number,
        "jobs": [_row(row) for row in sweep.rows],
        "groups": [_group(group) for group in sweep.groups],
        "next": [command for _, command in _next(sweep)],
    }
    return json.dumps(plain(content), indent=2)  # NaN and infinities by name


def _row(row: Row) -> dict[str, Any]:
    return {
        "number": row.job.number,
        "values": list(row.job.values),
        "state": row.state,
        "steps": row.steps,
        "last_reward": row.last,
        "best_reward": row.best,
        "seconds": row.seconds,
        "folder": str(row.folder),
        "error": row.error,
        "hash": row.job.hash,
    }


def _group(group: Group) -> dict[str, Any]:
    return {
        "values": list(group.values),
        "mean": group.mean if group.rewards else None,
        "std": group.std,
        "done": len(group.rewards),
        "count": group.count,
    }


def shown(values: Sequence[str]) -> str:
    """Swept overrides with numbers rounded; the folders have them in full."""
    return " ".join(re.sub(r"(?<==)-?\d*\.\d{5,}(e-?\d+)?$", _rounded, word) for word in values)


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match[0]):.4g}"


def _reward(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02} min"
