"""Writes what a full test run gave into the table of docs/results.md, newest run first.

Usage: record_results.py [JUNIT_XML]. Without a file it only lays out the page anew. What stands
above the table is learning_results.py's.
"""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results.md"
KEPT = 20  # runs
TITLE = "## Full test runs\n"
HEADER = f"""\
{TITLE}
`make test-all` runs every test, the slow ones too, and adds a line here. A `+` after the commit
means that files had changed since; skipped tests include expected failures.

| date (UTC) | commit | passed | failed | skipped | seconds |
|---|---|---:|---:|---:|---:|
"""


def git(*words: str) -> str:
    """What git prints, or nothing where there is no git checkout."""
    try:
        run = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return run.stdout.strip()


def commit() -> str:
    """The commit at hand in short form, marked if other files than the page differ from it."""
    name = git("rev-parse", "--short", "--verify", "HEAD")
    changed = git("status", "--porcelain", "--", ".", f":!{PAGE.relative_to(ROOT)}")
    return (name or "none") + ("+" if changed else "")


def row(junit: Path, today: str, commit: str) -> str:
    """One line of the table, from the counts in pytest's JUnit file."""
    suites = list(ET.parse(junit).iter("testsuite"))
    tests, failures, errors, skipped = (
        sum(int(suite.get(key, "0")) for suite in suites)
        for key in ("tests", "failures", "errors", "skipped")
    )
    seconds = sum(float(suite.get("time", "0")) for suite in suites)
    failed = failures + errors
    passed = tests - failed - skipped
    return f"| {today} | {commit} | {passed} | {failed} | {skipped} | {seconds:.0f} |"


def page(rows: list[str], above: str = "") -> str:
    """The whole page with these lines, below what stands above the table."""
    return above + HEADER + "".join(f"{line}\n" for line in rows[:KEPT])


def above(text: str) -> str:
    """What stands above the table in a page's text."""
    return text.partition(TITLE)[0]


def recorded(text: str) -> list[str]:
    """The lines of runs in a page's text: those of the table that start with a date."""
    table = text.partition(TITLE)[2]
    return [line for line in table.splitlines() if line.startswith("| 2")]


def main(words: list[str]) -> None:
    """Rewrites the page with the new run on top."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    rows = recorded(text)
    if words:
        today = datetime.now(UTC).date().isoformat()
        rows.insert(0, row(Path(words[0]), today, commit()))
        print(rows[0])
    PAGE.write_text(page(rows, above(text)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
