"""Tables and JSON on standard output.

Tables have lines and colours in a terminal; elsewhere they are text to be cut and searched.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Collection[str] = (),
    styles: Mapping[str, str] | None = None,
) -> None:
    """`right` are the columns of numbers; `styles` are those of cells with certain texts."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 10_000)
    lines = box.SIMPLE_HEAD if console.is_terminal else None
    table = Table(box=lines, pad_edge=False, padding=(0, 2 if lines is None else 1, 0, 0))
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for cells in rows:
        table.add_row(*(Text(cell, (styles or {}).get(cell, "")) for cell in cells))
    _print(console, table)


def print_wrapped(rows: Iterable[Sequence[str]]) -> None:
    """Indented columns, the last one wrapped."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for cells in rows:
        table.add_row("", *map(Text, cells))
    width = max(60, min(110, shutil.get_terminal_size((100, 24)).columns))
    _print(Console(width=width), table)


def _print(console: Console, table: Table) -> None:
    """Without the blanks that fill the columns."""
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def print_json(content: Any) -> None:
    """Indented, figures in full; numbers that JSON lacks are null, with their names at the end."""
    from rlg.tracking.files import NAMES, plain

    names: dict[str, str] = {}

    def known(value: Any, path: str) -> Any:
        if isinstance(value, dict):
            return {key: known(inner, f"{path}.{key}") for key, inner in value.items()}
        if isinstance(value, list):
            return [known(inner, f"{path}[{index}]") for index, inner in enumerate(value)]
        if isinstance(value, str) and value in NAMES:
            names[path.lstrip(".")] = value
            return None
        return value

    found = known(plain(content), "")
    print(json.dumps({**found, "not_finite": names} if names else found, indent=2, default=str))
