"""Reports with known figures."""

from __future__ import annotations

from typing import Any

from rlg.bench.measuring import Cost
from rlg.bench.results import Load, Report, Row, Suite

MACHINE = {"cores": 2, "processor": "Abacus 3000", "memory": 8_000_000_000, "system": "Linux x86"}
QUIET = Load(0.1, 0.9, 0.0, 0.1, 12.0, 11.0)


def row(
    ratios: list[float] | None = None, *, cpu: list[float] | None = None, **options: Any
) -> Row:
    """The opponent takes 1 ms of wall time and 2 ms of CPU time; rlg so many times as much by wall
    time, and by CPU time `cpu` times as much, or the same.
    """
    ratios = [0.9, 1.0, 1.1] if ratios is None else ratios
    pairs = zip(ratios, [1.0] * len(ratios) if cpu is None else cpu, strict=True)
    costs = tuple(Cost(1e-3 * wall, 2e-3 * used) for wall, used in pairs)
    others = tuple(Cost(1e-3, 2e-3) for _ in ratios)
    values = {"case": "MLP, batch 1", "ours": "rlg torch", "opponent": "by hand", "unit": "call"}
    return Row(**{**values, "costs": costs, "others": others, **options})


def by_process(*ratios: list[float], **options: Any) -> Row:
    """Rlg takes so many times as much by both clocks, in several processes."""
    flat = [ratio for group in ratios for ratio in group]
    return by_both(flat, processes=tuple(map(len, ratios)), **options)


def by_both(ratios: list[float], **options: Any) -> Row:
    """Rlg takes so many times as much by both clocks."""
    return row(ratios, cpu=ratios, **options)


def report(
    *rows: Row, load: Load = QUIET, warnings: tuple[str, ...] = (), **options: Any
) -> Report:
    suite = Suite("act", "greedy actions", rows or (row(),), load, warnings)
    values: dict[str, Any] = {
        "date": "2030-01-31T12:00:00",
        "machine": MACHINE,
        "versions": {"rlg": "1.2.3", "torch": "4.5.6"},
        "settings": {"threads": 1, "full": False},
        "suites": (suite,),
    }
    return Report(**{**values, **options})
