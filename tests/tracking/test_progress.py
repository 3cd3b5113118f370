"""Promises of progress: plain lines for pipes, a live line for terminals, rates by a clock."""

from __future__ import annotations

import io
import math

import pytest

from rlg.tracking import PlainProgress, RichProgress, make_progress


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def play(progress, clock: Clock, steps: range, *, speed: float = 1000.0) -> None:
    for step in steps:
        clock.now = 1000.0 + step / speed
        progress.update(step, updates=step // 4, reward=step / 100)


def test_a_line_every_few_seconds_says_everything():
    stream, clock = io.StringIO(), Clock()
    progress = PlainProgress(20_000, every_seconds=5.0, stream=stream, clock=clock)
    play(progress, clock, range(500, 12_500, 500))
    progress.close()
    assert stream.getvalue().splitlines() == [
        "step 5,000/20,000 (25%)  reward 50.0  1,000 steps/s  250 updates/s  ETA 0:15",
        "step 10,000/20,000 (50%)  reward 100.0  1,000 steps/s  250 updates/s  ETA 0:10",
        "step 12,000/20,000 (60%)  reward 120.0  1,000 steps/s  250 updates/s  ETA 0:08",
    ]


def test_a_line_every_k_steps():
    stream, clock = io.StringIO(), Clock()
    progress = PlainProgress(
        400, every_seconds=math.inf, every_steps=150, stream=stream, clock=clock
    )
    play(progress, clock, range(50, 401, 50))
    progress.close()
    shown = [line.split()[1] for line in stream.getvalue().splitlines()]
    assert shown == ["150/400", "300/400", "400/400"]


def test_a_resumed_run_counts_only_its_own_steps_for_rates():
    stream, clock = io.StringIO(), Clock()
    progress = PlainProgress(1000, step=500, updates=100, every_steps=1, stream=stream, clock=clock)
    clock.now += 10
    progress.update(600, updates=103)
    assert stream.getvalue() == "step 600/1,000 (60%)  10 steps/s  0.3 updates/s  ETA 0:40\n"


@pytest.mark.parametrize(
    ("step", "seconds", "eta"),
    [(1, 1.0, "2:46:39"), (5000, 5000.0, "1:23:20"), (9990, 999.0, "0:01"), (10_000, 1.0, "0:00")],
)
def test_the_time_left_is_readable(step, seconds, eta):
    stream, clock = io.StringIO(), Clock()
    progress = PlainProgress(10_000, stream=stream, clock=clock)
    clock.now += seconds
    progress.update(step)
    progress.close()
    assert stream.getvalue().splitlines()[0].endswith(f"ETA {eta}")


def test_no_time_and_no_steps_are_no_error():
    stream, clock = io.StringIO(), Clock()
    progress = PlainProgress(0, stream=stream, clock=clock)
    progress.close()
    progress.update(1, reward=math.nan)
    progress.close()
    assert stream.getvalue() == "step 1/0 (100%)  reward nan  - steps/s  - updates/s  ETA 0:00\n"


def test_training_goes_on_when_nobody_listens():
    progress = PlainProgress(10, every_seconds=0, stream=Closed())
    progress.update(5)
    progress.update(10)
    progress.close()


def test_pipes_get_no_control_characters():
    stream = io.StringIO()
    progress = make_progress(10, stream=stream)
    assert isinstance(progress, PlainProgress)
    progress.update(10, reward=1.0)
    progress.close()
    assert "step 10/10 (100%)" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()
    assert "\r" not in stream.getvalue()


def test_terminals_get_a_live_line(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    progress = make_progress(10, stream=stream)
    assert isinstance(progress, RichProgress)
    progress.update(10, reward=1.0)
    progress.close()
    assert "step 10/10 (100%)  reward 1.0" in stream.getvalue()
    assert "\x1b[" in stream.getvalue()


def test_a_live_line_is_drawn_by_the_clock(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream, clock = Terminal(), Clock()
    progress = RichProgress(1000, every_seconds=0.5, stream=stream, clock=clock)
    play(progress, clock, range(1000))
    drawn = [f"step {step}/1,000" in stream.getvalue() for step in (499, 500, 501, 999)]
    progress.close()
    assert drawn == [False, True, False, False]
    assert "step 999/1,000 (99%)" in stream.getvalue()
