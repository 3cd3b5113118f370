"""Promises of the live panel: it fits, is drawn by the clock, and leaves the terminal as it was."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from rlg.display import Figures, Title
from rlg.display.live import LiveProgress, Sparkline
from tests.display.shown import LONG, AsciiTerminal, Clock, ClosedTerminal, Run, Terminal
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
TITLE = Title("dqn", "pong", "torch", 3, "outputs/2030-01-31/12-00-00_dqn_pong_s3")
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def terminal(monkeypatch):
    """Sets the size of the terminal."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def resize(columns: int = 100, rows: int = 30) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("LINES", str(rows))

    resize()
    return resize


def frame(figures: Figures = LONG, *, stream: Terminal | None = None, seconds: float = 10) -> str:
    """What is on the screen after some seconds of a run, without codes."""
    stream, clock, run = stream or Terminal(), Clock(), Run(figures)
    progress = LiveProgress(run.read, TITLE, stream=stream, clock=clock)
    progress.tick()
    clock.now += seconds
    run.go_on(steps=figures.steps + 1000, updates=figures.updates + 250, reward=20.0)
    before = len(stream.getvalue())
    progress.tick()
    shown = CODES.sub("", stream.getvalue()[before:]).lstrip("\r")
    progress.close()
    return shown


def test_the_panel_says_everything(terminal):
    shown = frame()
    for words in (
        "dqn on pong · torch · seed 3",
        "outputs/2030-01-31/12-00-00_dqn_pong_s3",
        "24% 12.3M/50.0M 0:10 elapsed",
        "Ctrl-C saves and stops",
        "reward so far  18.2 ▁█ 20.0",
    ):
        assert words in shown
    values = dict(
        re.findall(r"(\S+(?: eval| ratio)?)  +(\S.*?)(?=  |$)", shown.replace("│", "  "), re.M)
    )
    assert values["last eval"] == "19.5 at 12.2M"
    assert values["best eval"] == "20.2 at 11.0M"
    assert values["steps/s"] == "100"
    assert values["frames/s"] == "400"
    assert values["updates/s"] == "25"
    assert values["replay ratio"] == "8.00"
    assert values["memory"] == "100k, 100% of 5.64 GB"
    assert values["epsilon"] == "0.010"
    assert values["loss"] == "0.0123"


@pytest.mark.parametrize("rows", [6, 10, 16, 24, 50])
@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_the_panel_fits_into_the_terminal(terminal, columns, rows):
    terminal(columns, rows)
    lines = frame().splitlines()
    assert len(lines) <= rows
    assert {cell_len(line) for line in lines if line} == {min(columns, 100)}
    assert any("24%" in line for line in lines)
    assert any("reward" in line for line in lines)


def test_what_matters_stays_where_there_is_little_room(terminal):
    terminal(60, 10)
    shown = frame()
    assert "reward" in shown
    assert "last eval" in shown
    assert "worker" not in shown


def test_workers_have_rows_of_their_own_and_the_rest_is_counted(terminal):
    workers = {f"worker-{i}": {"steps": 1_000 * i, "epsilon": 0.5**i} for i in range(100)}
    shown = frame(replace(LONG, workers=workers))
    assert re.search(r"worker +steps +steps/s +epsilon", shown)
    assert re.search(r"worker-2 +2,000 +0\.0 +0\.25 ", shown)
    named = len(re.findall(r"worker-\d+", shown))
    assert 5 <= named < 100
    assert f"+ {100 - named} more" in shown


def test_a_worker_has_its_own_rate(terminal):
    stream, clock = Terminal(), Clock()
    run = Run(replace(LONG, workers={"a": {"steps": 0}, "b": {"steps": 0}}))
    progress = LiveProgress(run.read, TITLE, stream=stream, clock=clock)
    clock.now += 4
    run.go_on(workers={"a": {"steps": 400}, "b": {"steps": 2_000}})
    progress.tick()
    progress.close()
    assert re.search(r"a +400 +100 ", stream.getvalue())
    assert re.search(r"b +2,000 +500 ", stream.getvalue())


def test_at_most_four_frames_a_second_are_drawn_and_read(terminal):
    clock, run = Clock(), Run(LONG)
    progress = LiveProgress(run.read, TITLE, stream=Terminal(), clock=clock)
    before = run.reads
    for _ in range(10_000):  # ten seconds, a millisecond each
        clock.now += 0.001
        progress.tick()
    assert 38 <= progress.frames <= 41
    assert run.reads - before == progress.frames
    progress.close()


def test_drawing_takes_a_fiftieth_of_the_time_at_most(terminal):
    clock = Clock()

    def slow() -> Figures:
        clock.now += 0.02
        return LONG

    progress = LiveProgress(slow, TITLE, stream=Terminal(), clock=clock)
    started = clock.now
    while clock.now < started + 20:
        clock.now += 0.001
        progress.tick()
    assert 18 <= progress.frames <= 21
    progress.close()


def test_what_the_run_is_busy_with_stands_in_the_title(terminal):
    stream, clock = Terminal(), Clock()
    progress = LiveProgress(Run(LONG).read, TITLE, stream=stream, clock=clock)
    progress.say("evaluating")
    assert "seed 3 · evaluating" in CODES.sub("", stream.getvalue())
    clock.now += 1
    progress.say("")
    before = len(stream.getvalue())
    progress.tick()
    assert "evaluating" not in stream.getvalue()[before:]
    progress.close()


def test_the_terminal_is_left_as_it_was(terminal):
    stream = Terminal()
    progress = LiveProgress(Run(LONG).read, TITLE, stream=stream)
    progress.tick()
    rows = stream.getvalue().count("\n")
    progress.close()
    progress.close()
    progress.tick()
    text = stream.getvalue()
    assert text.count(HIDE) == text.count(SHOW) == 1
    assert text.rindex(SHOW) > text.rindex("│")
    # As many rows are erased as were drawn.
    assert text[text.rindex("╯") :].count("\x1b[2K") >= rows


def test_the_cursor_waits_below_the_panel(terminal):
    # At the right edge, the ^C that a terminal writes would begin another row.
    stream = Terminal()
    progress = LiveProgress(Run(LONG).read, TITLE, stream=stream)
    progress.tick()
    assert CODES.sub("", stream.getvalue()).endswith("╯\n")
    progress.close()


def test_rows_that_a_narrower_terminal_has_folded_are_erased(terminal):
    stream, clock = Terminal(), Clock()
    progress = LiveProgress(Run(LONG).read, TITLE, stream=stream, clock=clock)
    progress.tick()
    rows = stream.getvalue().count("\n")
    before = len(stream.getvalue())
    progress._console.width = 60
    clock.now += 1
    progress.tick()
    erased = stream.getvalue()[before:].partition("╭")[0].count("\x1b[2K")
    # Each row is two now; the one that the cursor waits in is not.
    assert erased == 2 * rows + 1
    progress.close()


def test_no_color_is_honoured(terminal, monkeypatch):
    colours = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|38;5;\d+)(?:;\d+)*m")
    stream = Terminal()
    frame(stream=stream)
    assert colours.search(stream.getvalue())
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    frame(stream=stream)
    assert not colours.search(stream.getvalue())


def test_terminals_without_unicode_get_ascii(terminal):
    shown = frame(stream=AsciiTerminal())
    assert "dqn on pong - torch - seed 3" in shown
    assert shown.isascii()


def test_training_goes_on_when_the_terminal_is_gone(terminal):
    stream = Terminal()
    run, clock = Run(LONG), Clock()
    progress = LiveProgress(run.read, TITLE, stream=stream, clock=clock)
    progress._console.file = ClosedTerminal()
    progress.tick()
    known = run.reads
    clock.now += 60
    progress.tick()
    assert run.reads == known  # for nobody
    progress.close()


@pytest.mark.parametrize("end", ["raise ValueError", "os.kill(os.getpid(), signal.SIGINT)"])
def test_errors_and_signals_leave_a_usable_terminal(end):
    code = f"""
import os, signal
from rlg.display.progress import make_progress
from tests.display.shown import LONG, Run
from rlg.display import Title
progress = make_progress(Run(LONG).read, Title("dqn", "pong"))
try:
    progress.tick()
    print("printed by an environment")
    {end}
finally:
    progress.close()
"""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    words = [sys.executable, "-c", code]
    process = subprocess.Popen(
        words, cwd=ROOT, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    text = read_all(ours)
    assert process.wait(timeout=PATIENCE) != 0
    assert "dqn on pong" in text
    assert "printed by an environment" in text
    assert text.count(HIDE) == text.count(SHOW) == 1
    assert text.rindex(SHOW) < text.rindex("Traceback")


def read_all(descriptor: int) -> str:
    found = b""
    while True:
        try:
            piece = os.read(descriptor, 4096)
        except OSError:  # what Linux says when the other end is closed
            piece = b""
        if not piece:
            os.close(descriptor)
            return found.decode()
        found += piece


def test_a_sparkline_keeps_the_history_of_a_long_run_in_little_room():
    history = Sparkline(most=8)
    for value in range(1000):
        history.add(float(value))
    means = history.means
    assert 4 <= len(means) < 8
    assert means == sorted(means)
    assert means[0] == pytest.approx(63.5)  # of the first 128
    history.add(float("nan"))
    history.add(None)
    assert history.means == means


def test_bars_go_from_the_lowest_to_the_highest():
    history = Sparkline()
    for value in (0.0, 7.0, 3.5, 3.5):
        history.add(value)
    assert history.bars(10) == "▁█▅▅"
    assert history.bars(2) == "▁▁"
    flat = Sparkline()
    flat.add(2.0)
    assert flat.bars(3) == "▁"
    assert Sparkline().bars(3) == ""
