"""Calls of a built graph, graph function by graph function, for whoever looks for a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rlg.backends.executor import Entry, GraphExecutor


@contextmanager
def watching(executor: GraphExecutor, watch: Callable[[str, Entry], Entry]) -> Iterator[None]:
    """Calls inside run define-by-run, and each graph function as `watch` wants it to."""
    names = ("define_by_run", "watch", "_entries", "_direct", "_variants")
    before: dict[str, Any] = {name: getattr(executor, name) for name in names}
    executor.define_by_run, executor.watch = True, watch
    # Ways in that were found before lead to plans.
    executor._entries, executor._direct, executor._variants = {}, {}, {}
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(executor, name, value)
