"""Numbers and paths as people read them: 12.3M, 1:02:03, 45.2 MB, outputs/..."""

from __future__ import annotations

import math
from pathlib import Path

from rlg.tracking.files import size

_STEPS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
NONE = "-"
__all__ = ["NONE", "count", "counted", "duration", "rate", "short", "size"]


def count(number: int) -> str:
    """Every digit below ten thousand, three digits above: 9,999, 12.3k, 1.23M."""
    if abs(number) < 10_000:
        return f"{number:,}"
    rounded = round(number, 3 - len(str(abs(number))))
    size, letter = next((size, letter) for size, letter in _STEPS if abs(rounded) >= size)
    value = rounded / size
    decimals = max(0, 2 - int(math.log10(abs(value))))
    return f"{value:.{decimals}f}{letter}"


def counted(number: int, noun: str) -> str:
    """1 episode, 20 episodes, 1,024 steps."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def rate(per_second: float | None) -> str:
    """A number per second."""
    if per_second is None:
        return NONE
    if per_second >= 100_000:
        return count(round(per_second))
    return f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:.1f}"


def duration(seconds: float | None) -> str:
    """Days, hours, minutes and seconds: 2d 03:04:05, 1:02:03, or 2:03."""
    if seconds is None:
        return NONE
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours:02d}:{minutes:02d}:{rest:02d}"
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def short(path: Path) -> str:
    """A path relative to the working folder, where it is below it."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
