"""Where time goes: a tree of stages, and below them components by their paths."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

REST = "rest"


class Times:
    """Seconds and calls of one name, and of what was called inside of it."""

    __slots__ = ("calls", "name", "parts", "seconds")

    def __init__(self, name: str) -> None:
        self.name = name
        self.seconds = 0.0
        self.calls = 0
        self.parts: dict[str, Times] = {}

    def part(self, name: str) -> Times:
        """The part of that name."""
        found = self.parts.get(name)
        if found is None:
            found = self.parts[name] = Times(name)
        return found

    def add(self, seconds: float) -> None:
        self.seconds += seconds
        self.calls += 1

    @property
    def rest(self) -> float:
        """Seconds that no part accounts for."""
        return max(0.0, self.seconds - sum(part.seconds for part in self.parts.values()))

    def ordered(self) -> list[Times]:
        """The parts, most expensive first, and what they leave over."""
        found = sorted(self.parts.values(), key=lambda part: -part.seconds)
        if found and self.rest > 0:
            found.append(Times(REST))
            found[-1].seconds = self.rest
        return found

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Times]]:
        """All names below this one, with their depths."""
        for part in self.ordered():
            yield depth, part
            yield from part.walk(depth + 1)

    def scaled(self, factor: float) -> Times:
        """The same shares of another time."""
        found = Times(self.name)
        found.seconds, found.calls = self.seconds * factor, self.calls
        found.parts = {name: part.scaled(factor) for name, part in self.parts.items()}
        return found

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        parts = [part.as_dict() for part in self.ordered()]
        return {"name": self.name, "seconds": self.seconds, "calls": self.calls, "parts": parts}


class Watch:
    """Takes the time of functions. One thread: what is called inside of another is its part."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forgets what was measured so far."""
        self.root = Times("run")
        self._open = [self.root]
        self._since = time.perf_counter()

    def stop(self) -> Times:
        """The whole since the restart."""
        self.root.add(time.perf_counter() - self._since)
        return self.root

    def stage(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, as a part of what is running when it is called."""

        def call(*args: Any, **kwargs: Any) -> Any:
            times, started = self._open[-1].part(name), time.perf_counter()
            self._open.append(times)
            try:
                return function(*args, **kwargs)
            finally:
                self._open.pop()
                times.add(time.perf_counter() - started)

        return call

    def component(self, label: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A graph function, `agent/policy/network/dense-0.call`: its time counts for all that it
        is a part of. Graph functions don't call each other.
        """
        path, _, method = label.rpartition(".")
        names = path.split("/")[1:]
        names = names if names and method == "call" else [*names, f".{method}"]

        def call(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                seconds, times = time.perf_counter() - started, self._open[-1]
                for name in names:
                    times = times.part(name)
                    times.add(seconds)

        call.__self__ = getattr(function, "__self__", None)  # type: ignore[attr-defined]
        return call
