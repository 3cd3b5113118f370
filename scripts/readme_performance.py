"""Writes the README's section "What it costs" from docs/bench.json, between two markers.

    rlg bench bench=all --full --output docs/bench     # on a quiet machine
    cp docs/bench/bench.json docs/bench.json
    python scripts/readme_performance.py

Until docs/bench.json exists, the section is written by hand and has no markers: put them around the
tables that are to be replaced.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rlg.bench.results import Report
from rlg.bench.tables import COLUMNS, headline, table_of, warnings
from rlg.tracking.files import size

ROOT = Path(__file__).resolve().parent.parent
README, SOURCE = ROOT / "README.md", ROOT / "docs" / "bench.json"
BEGIN, END = "<!-- bench: begin -->\n", "<!-- bench: end -->\n"


def section(report: Report) -> str:
    """Date, machine and versions, warnings, and a table for each suite."""
    machine, versions = report.machine, report.versions
    known = ", ".join(f"{name} {version}" for name, version in versions.items())
    where = f"{machine['processor']}, {machine['cores']} cores, {size(machine['memory'])}"
    how = "Ratios are rlg's time over the opponent's in the same round, with quartiles: below 1 "
    first = f"Measured by `rlg bench` on {report.date[:10]}: {where}; {known}. {how}rlg takes less."
    parts = [first, *(f"**Warning:** {text}." for text in warnings(report))]
    for suite in report.suites:
        rows = [COLUMNS, ["---"] * len(COLUMNS), *table_of(suite)]
        lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows]
        parts += [f"{headline(suite)}:", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def replaced(text: str, report: Report) -> str:
    """The page with a new section between its markers."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page lacks {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}\n{section(report)}\n{END}{after}"


def main() -> int:
    """Rewrites the README."""
    if not SOURCE.exists():
        print(f"There is no {SOURCE.relative_to(ROOT)}: rlg bench writes one.")
        return 1
    README.write_text(replaced(README.read_text("utf-8"), Report.read(SOURCE)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
