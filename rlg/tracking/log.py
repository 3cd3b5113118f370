"""`run.log`: what a run says, line by line with the time; a resume appends to it.

Not a copy of the terminal: a panel that is redrawn in place has no lines.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rlg.tracking.meta import timestamp


class RunLog(logging.Handler):
    """A file to write lines to; it is opened for each of them, so that others may rotate it."""

    def __init__(self, path: Path) -> None:
        super().__init__(logging.WARNING)
        self.path = path

    def write(self, text: str) -> None:
        """Appends lines with the time; what can't be written (a full disk) never ends a run."""
        lines = [f"{timestamp()}  {line}\n" for line in text.splitlines() if line.strip()]
        with (
            suppress(OSError),
            self.path.open("a", encoding="utf-8", errors="backslashreplace") as file,
        ):
            file.writelines(lines)

    def emit(self, record: logging.LogRecord) -> None:
        self.write(f"{record.levelname.lower()} of {record.name}: {record.getMessage()}")

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Records Python warnings (still shown as usual) and log messages from WARNING on."""
        show = warnings.showwarning

        def noted(message: Any, category: Any, filename: str, lineno: int, *rest: Any) -> None:
            self.write(f"{category.__name__}: {message} ({filename}:{lineno})")
            show(message, category, filename, lineno, *rest)

        logging.getLogger().addHandler(self)
        warnings.showwarning = noted  # type: ignore[assignment]
        try:
            yield
        finally:
            logging.getLogger().removeHandler(self)
            if warnings.showwarning is noted:
                warnings.showwarning = show
