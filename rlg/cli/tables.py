"""Tables: by rich in a terminal, and elsewhere as aligned text that can be cut and searched."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence


class Table:
    """Columns with names, and rows of text; a row may have a style for terminals."""

    def __init__(
        self, columns: Sequence[str], *, right: Collection[str] = (), styled: str = ""
    ) -> None:
        self.columns = tuple(columns)
        self.right = set(right)
        self.styled = styled  # the column that shows a row's style
        self.rows: list[tuple[tuple[str, ...], str | None]] = []

    def add(self, cells: Sequence[str], style: str | None = None) -> None:
        self.rows.append((tuple(cells), style))

    def text(self) -> str:
        """Two blanks between columns, nothing at the ends of lines."""
        lines = [self.columns, *(cells for cells, _ in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

        def aligned(cells: Sequence[str]) -> str:
            parts = (
                cell.rjust(width) if name in self.right else cell.ljust(width)
                for name, cell, width in zip(self.columns, cells, widths, strict=True)
            )
            return "  ".join(parts).rstrip()

        return "\n".join(map(aligned, lines))


def print_table(table: Table) -> None:
    """To standard output."""
    if not sys.stdout.isatty():
        print(table.text())
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in table.columns:
        shown.add_column(name, justify="right" if name in table.right else "left", overflow="fold")
    for cells, style in table.rows:
        shown.add_row(
            *(
                Text(cell, style=style if style and name == table.styled else "")
                for name, cell in zip(table.columns, cells, strict=True)
            )
        )
    Console().print(shown)
