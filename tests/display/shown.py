"""Parts of the tests of progress: a clock to turn, a run to watch, streams of all kinds."""

from __future__ import annotations

import io
from dataclasses import replace

from rlg.display.figures import Figures, MemoryFill

# Everything there is to show, of a long run on Atari.
LONG = Figures(
    steps=12_345_678,
    total=50_000_000,
    updates=3_000_000,
    episodes=54_321,
    reward=18.25,
    length=1_700.0,
    last_evaluation=(12_250_000, 19.5),
    best_evaluation=(11_000_000, 20.25),
    frames_per_step=4,
    replay_ratio=8.0,
    memory=MemoryFill(100_000, 100_000, 5_644_800_000),
    epsilon=0.01,
    loss=0.012345,
    workers={"local": {"envs": 8, "steps": 12_345_678, "episodes": 54_321, "reward": 18.25}},
)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Run:
    """A run that is at some step; counts how often it was looked at."""

    def __init__(self, figures: Figures) -> None:
        self.figures = figures
        self.reads = 0

    def read(self) -> Figures:
        self.reads += 1
        return self.figures

    def go_on(self, **changes) -> None:
        self.figures = replace(self.figures, **changes)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class AsciiTerminal(Terminal):
    encoding = "ascii"


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


class ClosedTerminal(Closed):
    def isatty(self) -> bool:
        return True
