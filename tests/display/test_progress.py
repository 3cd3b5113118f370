"""Promises of progress: plain lines for pipes, rates by a clock, no work until a line is due."""

from __future__ import annotations

import io
import math
import multiprocessing

import pytest

from rlg.display import Figures, PlainProgress, Title, make_progress, readable
from rlg.display.figures import Meter
from rlg.display.live import LiveProgress
from rlg.tracking.log import RunLog
from tests.display.shown import LONG, Clock, Closed, Run, Terminal


def play(progress, run: Run, clock: Clock, steps: range, *, speed: float = 1000.0) -> None:
    for step in steps:
        clock.now = 1000.0 + step / speed
        run.go_on(steps=step, updates=step // 4, reward=step / 100)
        progress.tick()


def test_a_line_every_few_seconds():
    stream, clock, run = io.StringIO(), Clock(), Run(Figures(0, 20_000))
    progress = PlainProgress(run.read, every_seconds=5.0, stream=stream, clock=clock)
    play(progress, run, clock, range(500, 12_500, 500))
    progress.close()
    rates = "steps/s 1,000  updates/s 250"
    assert stream.getvalue().splitlines() == [
        f"step 5,000/20,000 (25%)  reward 50.0  {rates}  elapsed 0:05  ETA 0:15",
        f"step 10,000/20,000 (50%)  reward 100.0  {rates}  elapsed 0:10  ETA 0:10",
        f"step 12,000/20,000 (60%)  reward 120.0  {rates}  elapsed 0:12  ETA 0:08",
    ]


def test_a_line_says_everything_that_is_known():
    stream, clock, run = io.StringIO(), Clock(), Run(LONG)
    progress = PlainProgress(run.read, stream=stream, clock=clock)
    clock.now += 100
    run.go_on(steps=12_346_678, updates=3_000_250)
    progress.tick()
    assert stream.getvalue() == (
        "step 12,346,678/50,000,000 (24%)  reward 18.2  length 1700.0  last eval 19.5 at 12.2M  "
        "best eval 20.2 at 11.0M  steps/s 10  updates/s 2.5  frames/s 40  replay ratio 8.00  "
        "memory 100k, 100% of 5.64 GB  epsilon 0.010  loss 0.0123  episodes 54.3k  "
        "elapsed 1:40  ETA 43d 13:55:32\n"
    )


def test_figures_are_read_only_when_a_line_is_due():
    clock, run = Clock(), Run(Figures(0, 1000))
    progress = PlainProgress(run.read, every_seconds=1.0, stream=io.StringIO(), clock=clock)
    before = run.reads
    play(progress, run, clock, range(1, 1000))
    assert run.reads == before
    play(progress, run, clock, range(1000, 1002))
    assert run.reads == before + 1


def test_a_resumed_run_counts_only_its_own_steps_for_rates():
    stream, clock, run = io.StringIO(), Clock(), Run(Figures(500, 1000, updates=100))
    progress = PlainProgress(run.read, stream=stream, clock=clock)
    clock.now += 10
    run.go_on(steps=600, updates=103)
    progress.tick()
    line = "step 600/1,000 (60%)  steps/s 10  updates/s 0.3  elapsed 0:10  ETA 0:40\n"
    assert stream.getvalue() == line


def test_rates_are_those_of_the_last_seconds_and_the_time_left_that_of_the_whole_run():
    clock = Clock()
    meter, start, steps = Meter(Figures(0, 1000), clock, window=10.0), clock.now, 0
    speeds = [1] * 20 + [5] * 20  # steps in each second
    for second, speed in enumerate(speeds, start=1):
        clock.now, steps = start + second, steps + speed
        reading = meter.read(Figures(steps, 1000))
        seen = speeds[max(0, second - 10) : second]
        assert reading.steps_rate == sum(seen) / len(seen)
    assert reading.steps_rate == 5.0
    assert reading.left == 880 * 40 / 120


def test_no_time_and_no_steps_are_no_error():
    stream, clock, run = io.StringIO(), Clock(), Run(Figures(0, 0))
    progress = PlainProgress(run.read, stream=stream, clock=clock)
    progress.close()
    run.go_on(steps=1, reward=math.nan)
    progress.close()
    line = "step 1/0 (100%)  reward nan  steps/s -  updates/s -  elapsed 0:00  ETA 0:00\n"
    assert stream.getvalue() == line


def test_training_goes_on_when_nobody_listens():
    run = Run(Figures(0, 10))
    progress = PlainProgress(run.read, every_seconds=0, stream=Closed())
    for step in (5, 10):
        run.go_on(steps=step)
        progress.tick()
    progress.close()


def test_pipes_get_no_control_characters():
    stream, run = io.StringIO(), Run(Figures(0, 10))
    progress = make_progress(run.read, Title(), stream=stream)
    assert isinstance(progress, PlainProgress)
    run.go_on(steps=10)
    progress.close()
    assert stream.getvalue().startswith("step 10/10 (100%)")
    assert not set("\x1b\r") & set(stream.getvalue())


@pytest.mark.parametrize("terminal", [io.StringIO, Terminal])
def test_a_runs_log_has_plain_lines_whatever_is_shown(monkeypatch, terminal, tmp_path):
    monkeypatch.setenv("TERM", "xterm")
    stream, run, log = terminal(), Run(Figures(0, 10)), RunLog(tmp_path / "run.log")
    progress = make_progress(run.read, Title(), stream=stream, log=log)
    progress.say("evaluating")
    run.go_on(steps=10)
    progress.tick()
    progress.close()
    assert ("evaluating" in stream.getvalue()) is (terminal is Terminal)
    (line,) = [line.partition("  ")[2] for line in log.path.read_text().splitlines()]
    assert line.startswith("step 10/10 (100%)")


@pytest.mark.parametrize("term", ["dumb", "unknown", ""])
def test_terminals_that_can_not_move_their_cursor_get_lines(monkeypatch, term):
    monkeypatch.setenv("TERM", term)
    assert isinstance(make_progress(Run(LONG).read, Title(), stream=Terminal()), PlainProgress)


def test_only_the_main_process_draws(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    progress = make_progress(Run(LONG).read, Title(), stream=Terminal())
    assert isinstance(progress, LiveProgress)
    progress.close()
    monkeypatch.setattr(multiprocessing.current_process(), "_name", "LokyProcess-1")
    assert isinstance(make_progress(Run(LONG).read, Title(), stream=Terminal()), PlainProgress)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (9_999, "9,999"),
        (10_000, "10.0k"),
        (99_949, "99.9k"),
        (99_950, "100k"),
        (999_499, "999k"),
        (999_500, "1.00M"),
        (12_345_678, "12.3M"),
        (1_500_000_000, "1.50G"),
        (-20_500, "-20.5k"),
    ],
)
def test_counts_have_three_digits(number, text):
    assert readable.count(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(None, "-"), (3.14, "3.1"), (10.4, "10"), (99_999.0, "99,999"), (123_456.0, "123k")],
)
def test_rates_are_readable(number, text):
    assert readable.rate(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0:00"), (9.6, "0:10"), (3_599.6, "1:00:00"), (90_061, "1d 01:01:01"), (None, "-")],
)
def test_times_are_readable(seconds, text):
    assert readable.duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(999, "999 bytes"), (1_450_000, "1.45 MB"), (999_600_000, "1 GB"), (45_200, "45.2 kB")],
)
def test_sizes_are_readable(number, text):
    assert readable.size(number) == text
