"""`plugins:`, modules of the user that register environments or components when imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from rlg.errors import SpecError, error_line


def load_plugins(names: Iterable[str]) -> None:
    """Imports them, from the working folder too; a configuration can't import anything else."""
    for name in names:
        folder = str(Path.cwd())
        if folder not in sys.path:
            sys.path.append(folder)
        try:
            module = import_module(name)
        except (Exception, SystemExit) as error:
            advice = "Correct it; --traceback shows where."
            if isinstance(error, ModuleNotFoundError):
                advice = "Install it, or start rlg in the folder that holds it."
            if name.endswith(".py"):
                advice = f"Name the module without its suffix: plugins=[{name[:-3]}]."
            raise SpecError(
                f"plugins: importing {name!r} raised {error_line(error)}. {advice}"
            ) from error
        if getattr(module, "__file__", None) is None and hasattr(module, "__path__"):
            raise SpecError(
                f"plugins: {name!r} is a folder without an __init__.py ({module.__path__[0]}), so "
                "it registers nothing. Start rlg in the folder that holds the module, or rename it."
            )
