"""`plugins:`, modules of the user that register environments or components when imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from rlg.errors import SpecError
from rlg.tracking.folder import error_line


def load_plugins(names: Iterable[str]) -> None:
    """Imports them, from the working folder too; a configuration can't import anything else."""
    for name in names:
        folder = str(Path.cwd())
        if folder not in sys.path:
            sys.path.append(folder)
        try:
            import_module(name)
        except Exception as error:
            raise SpecError(
                f"plugins: importing {name!r} raised {error_line(error)}. Install it, or start rlg "
                "in the folder that holds it."
            ) from error
