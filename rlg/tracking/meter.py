"""Counts, rates and the time that is left: what every kind of progress shows."""

from __future__ import annotations

from collections.abc import Callable


class Meter:
    """Rates are those since the last line; the time left goes by the mean since the start."""

    def __init__(self, total: int, step: int, updates: int, clock: Callable[[], float]) -> None:
        self.total, self.step, self.updates = total, step, updates
        self.reward: float | None = None
        self._clock = clock
        self._first = self._shown = (clock(), step, updates)

    def update(self, step: int, updates: int, reward: float | None) -> None:
        self.step, self.updates, self.reward = step, updates, reward

    @property
    def has_news(self) -> bool:
        return self._shown[1:] != (self.step, self.updates)

    def is_due(self, seconds: float, steps: int | None) -> bool:
        if steps is not None and self.step - self._shown[1] >= steps:
            return True
        return self._clock() - self._shown[0] >= seconds

    def line(self) -> str:
        """What to show now; the next rates count from here."""
        now = self._clock()
        since, step, updates = self._shown
        first, first_step, _ = self._first
        self._shown = (now, self.step, self.updates)
        words = [f"step {self.step:,}/{self.total:,} ({self._percent()}%)"]
        if self.reward is not None:
            words.append(f"reward {self.reward:.1f}")
        words.append(f"{_rate(self.step - step, now - since)} steps/s")
        words.append(f"{_rate(self.updates - updates, now - since)} updates/s")
        words.append(f"ETA {_left(self.total - self.step, self.step - first_step, now - first)}")
        return "  ".join(words)

    def _percent(self) -> int:
        return 100 * self.step // self.total if self.total else 100


def _rate(count: int, seconds: float) -> str:
    if seconds <= 0:
        return "-"
    rate = count / seconds
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def _left(remaining: int, done: int, seconds: float) -> str:
    """Hours, minutes and seconds: 1:02:03, or 2:03."""
    if remaining <= 0:
        return "0:00"
    if done <= 0 or seconds <= 0:
        return "-"
    minutes, rest = divmod(round(remaining * seconds / done), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
