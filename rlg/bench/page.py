"""`report.html`: a page that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from rlg.bench.results import Report
from rlg.bench.tables import COLUMNS, headline, table_of, warnings
from rlg.tracking.files import size

FILE = "report.html"
HOW = (
    "Contenders take turns in blocks within one run, so that all of them see the same machine; "
    "whoever goes first alternates. A ratio is rlg's time over the opponent's in the same round: "
    "below 1 rlg takes less. Each process measures everything once. Shown are the median over all "
    "processes and, in brackets, between what the median of another run is expected (95 %), by how "
    "much processes differ. CPU time counts all threads and the processes below; it "
    "suffers less from what else runs, so where both stand there and differ, trust CPU time. A "
    "ceiling is what remains if everything but the environment, the bare network and the bare "
    "memory cost nothing: nobody can be faster. A model is calculated from measured rows and is "
    "not a measurement."
)
STYLE = (
    "body{font:14px system-ui,sans-serif;max-width:1200px;margin:16px auto;padding:0 12px}"
    "img{max-width:100%}table{border-collapse:collapse;margin:8px 0 24px}"
    "th,td{padding:4px 14px 4px 0;text-align:left;vertical-align:top;"
    "border-bottom:1px solid #e4e7eb}"
    ".warning{background:#fff4ce;border-left:4px solid #e69f00;padding:6px 10px;margin:6px 0}"
)


def page(report: Report, pictures: Mapping[str, Sequence[Path]]) -> str:
    """Tables and pictures of all suites, how to read them, the machine and its load."""
    machine = report.machine
    memory = size(int(machine.get("memory", 0)))
    where = f"{machine.get('processor')}, {machine.get('cores')} cores, {memory}"
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>rlg bench</title>',
        f"<style>{STYLE}</style></head><body><h1>rlg bench, {escape(report.date)}</h1>",
        f"<p>{escape(where)}; threads: {report.settings.get('threads')}</p>",
        *(_warning(text) for text in warnings(report)),
        f"<h2>How to read it</h2><p>{HOW}</p>",
    ]
    for suite in report.suites:
        parts.append(f"<h2>{escape(headline(suite))}</h2>")
        parts += [_warning(text) for text in suite.warnings]
        parts += [image(path) for path in pictures.get(suite.name, ())]
        parts.append(table(COLUMNS, table_of(suite)))
    facts = [*report.versions.items(), *((f"settings: {k}", v) for k, v in report.settings.items())]
    parts.append("<h2>Versions and settings</h2>")
    parts.append(table(("name", "value"), [[name, str(value)] for name, value in facts]))
    return "\n".join([*parts, "</body></html>\n"])


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Plain HTML."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    lines = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    return "<table>" + "\n".join(f"<tr>{line}</tr>" for line in (head, *lines)) + "</table>"


def _warning(text: str) -> str:
    return f'<p class="warning">Warning: {escape(text)}: take these figures with care.</p>'


def image(path: Path) -> str:
    content = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{escape(path.stem)}" src="data:image/png;base64,{content}">'
