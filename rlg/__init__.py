"""rlg: reinforcement-learning algorithms composed from components and built once into a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlg.api.python import compose, evaluate, export, load, resume, train

__version__ = "0.1.0.dev0"
__all__ = ["compose", "evaluate", "export", "load", "resume", "train"]


def __getattr__(name: str) -> Any:
    """Imported on use: `import rlg` loads neither a framework nor Hydra."""
    if name in __all__:
        from rlg.api import python

        return getattr(python, name)
    raise AttributeError(f"module 'rlg' has no attribute {name!r}")
