"""Writes what rlg costs into the README (a summary) and docs/performance.md (every row).

    make figures                                       # on a quiet machine, or by hand:
    rlg bench bench=all --full -o measured
    python scripts/performance.py measured/bench.json

Both pages are made from docs/bench.json. Reports given on the command line are taken into it first:
their suites replace those of the same name, so that a suite can be measured again alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rlg.bench.results import Report, Row
from rlg.bench.tables import COLUMNS, headline, table_of, warnings
from rlg.tracking.files import size

ROOT = Path(__file__).resolve().parent.parent
README, PAGE, SOURCE = ROOT / "README.md", ROOT / "docs/performance.md", ROOT / "docs/bench.json"
BEGIN, END = "<!-- bench: begin -->\n", "<!-- bench: end -->\n"
SUMMARY = ("suite", "rlg on", "against", "cases", "time beside theirs", "by CPU time")


def joined(old: Report | None, new: Report) -> Report:
    """The newer report, with the suites that only the older one has."""
    if old is None:
        return new
    names = [suite.name for suite in new.suites]
    kept = [suite for suite in old.suites if suite.name not in names]
    return replace(new, suites=tuple(sorted((*kept, *new.suites), key=lambda suite: suite.name)))


def summary(report: Report) -> list[list[str]]:
    """A row for each suite, backend and opponent: least and most of all cases."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for suite in report.suites:
        for row in suite.rows:
            if row.kind != "figure" and not row.is_model and not row.missing:
                found.setdefault((suite.name, row.ours, row.opponent), []).append(row)
    return [
        [*key, str(len(rows)), _range(rows, "wall"), _range(rows, "cpu")]
        for key, rows in found.items()
    ]


def _range(rows: Sequence[Row], clock: str) -> str:
    if clock == "wall" and all(row.clock == "cpu" for row in rows):
        return ""
    found = sorted(row.compared(clock).middle for row in rows)  # type: ignore[arg-type]
    is_ratio = rows[0].kind == "ratio"
    texts = [f"{value:.2f}x" if is_ratio else f"{1e3 * value:+.0f} ms" for value in found]
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"


def origin(report: Report) -> str:
    """When, where and with which versions."""
    machine = report.machine
    known = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    where = f"{machine['processor']}, {machine['cores']} cores, {size(machine['memory'])}"
    return f"Measured by `rlg bench` on {report.date[:10]}: {where}; {known}."


def section(report: Report) -> str:
    """What the README has of it."""
    how = (
        "Medians of interleaved runs; below 1 rlg takes less time. Every case with its spread, its "
        "settings and the machine's load is in [docs/performance.md](docs/performance.md)."
    )
    return f"{origin(report)} {how}\n\n{_table([SUMMARY, *summary(report)])}\n"


def page(report: Report) -> str:
    """Every row."""
    how = (
        "Ratios are rlg's time over the opponent's in the same round: below 1 rlg takes less. In "
        "brackets, between what another run is expected. [bench.md](bench.md) says how it is "
        "measured; `scripts/performance.py` writes this page from `bench.json`."
    )
    parts = ["# What rlg costs", f"{origin(report)} {how}"]
    parts += [f"**Warning:** {text}." for text in warnings(report)]
    for suite in report.suites:
        parts += [f"## {suite.name}", f"{headline(suite)}.", _table([COLUMNS, *table_of(suite)])]
    return "\n\n".join(parts) + "\n"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(
        "| " + " | ".join(c.replace("|", r"\|") for c in line) + " |" for line in lines
    )


def replaced(text: str, report: Report) -> str:
    """The README with a new section between its markers."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page lacks {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}\n{section(report)}\n{END}{after}"


def main(paths: Sequence[str]) -> int:
    """Takes reports in, and rewrites both pages."""
    report = Report.read(SOURCE) if SOURCE.exists() else None
    for path in paths:
        report = joined(report, Report.read(Path(path)))
    if report is None:
        print(f"There is no {SOURCE.relative_to(ROOT)}: give the bench.json of an rlg bench.")
        return 1
    report.write(SOURCE.parent)
    README.write_text(replaced(README.read_text("utf-8"), report), encoding="utf-8")
    PAGE.write_text(page(report), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
