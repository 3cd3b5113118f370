"""`progress.csv`: metrics as a table whose columns may grow."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from rlg.tracking.atomic import write_atomically
from rlg.tracking.numbers import NAMES


class Table:
    """The step, then all tags in alphabetical order; made from the JSON lines when tags appear."""

    def __init__(self, path: Path, source: Path) -> None:
        self._path, self._source = path, source
        self.columns: list[str] = []
        self.file = self._open()
        self.rebuild()

    def add(self, row: Mapping[str, Any]) -> None:
        """Appends a row, which must be in the source already."""
        if set(row) <= set(self.columns):
            self.file.write(_text([self._cells(row)]))
            self.file.flush()
        else:
            self.rebuild()

    def rebuild(self) -> None:
        """Replaces the file by what the source says."""
        self.file.close()
        rows = self._rows()
        tags = {tag for row in rows for tag in row} - {"step"}
        self.columns = ["step", *sorted(tags)]
        header = [self.columns] if tags else []
        write_atomically(self._path, _text([*header, *map(self._cells, rows)]))
        self.file = self._open()

    def _open(self) -> IO[str]:
        return self._path.open("a", encoding="utf-8", newline="")

    def _rows(self) -> list[dict[str, Any]]:
        if not self._source.exists():
            return []
        return [json.loads(line) for line in self._source.read_text(encoding="utf-8").splitlines()]

    def _cells(self, row: Mapping[str, Any]) -> list[str]:
        return [_cell(row.get(column)) for column in self.columns]


def _cell(value: Any) -> str:
    """Floats in full; nothing where a row has no value."""
    if isinstance(value, str):
        value = NAMES[value]
    return "" if value is None else repr(value)


def _text(rows: Iterable[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
