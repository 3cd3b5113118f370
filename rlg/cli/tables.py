"""Tables by rich: with lines and colours in a terminal, elsewhere text to be cut and searched."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence


class Table:
    """Columns with names, and rows of text; `styled` is the column that shows a row's style."""

    def __init__(
        self, columns: Sequence[str], *, right: Collection[str] = (), styled: str = ""
    ) -> None:
        self.columns, self.right, self.styled = tuple(columns), set(right), styled
        self.rows: list[tuple[Sequence[str], str | None]] = []

    def add(self, cells: Sequence[str], style: str | None = None) -> None:
        self.rows.append((cells, style))


def print_table(table: Table) -> None:
    """To standard output."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 10_000)
    lines = box.SIMPLE_HEAD if console.is_terminal else None
    shown = RichTable(box=lines, pad_edge=False, padding=(0, 2 if lines is None else 1, 0, 0))
    for name in table.columns:
        shown.add_column(name, justify="right" if name in table.right else "left", overflow="fold")
    for cells, style in table.rows:
        styles = [style or "" if name == table.styled else "" for name in table.columns]
        shown.add_row(*map(Text, cells, styles))
    with console.capture() as captured:
        console.print(shown)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))
