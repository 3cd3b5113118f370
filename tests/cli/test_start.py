"""`rlg --help`: what it says, and what it doesn't load."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import contextmanager

import pytest

import rlg as package
from rlg.cli.waiting import waiting
from tests.cli.conftest import PROGRAM

HEAVY = ["torch", "tensorflow", "ray", "gymnasium", "hydra", "omegaconf", "numpy", "numba", "yaml"]
SCRIPT = """
import contextlib, io, json, sys
from rlg.cli.main import main
out = io.StringIO()
with contextlib.redirect_stdout(out):
    code = main(sys.argv[1:])
print(json.dumps([code, out.getvalue(), sorted(sys.modules)]))
"""


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["train", "--help"], []])
def test_help_loads_neither_framework_nor_hydra(folder, words):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=True
    )
    code, out, modules = json.loads(done.stdout)
    assert code == 0
    assert "rlg" in out
    assert [name for name in HEAVY if name in modules] == []


def test_help_lists_the_commands(rlg):
    out = rlg("--help").out
    assert [word for word in ("train", "resume", "eval", "--traceback") if word not in out] == []


def test_the_version_is_that_of_the_package(rlg):
    assert rlg("--version").out == f"rlg {package.__version__}\n"


def test_the_configuration_is_printed_instead_of_run(rlg, folder):
    result = rlg("train", "--cfg", "job", "seed=7", "backend=tf", "network.units=[8,8]")
    assert result.code == 0
    assert "seed: 7\n" in result.out
    assert "type: tf\n" in result.out
    assert "  units:\n  - 8\n  - 8\n" in result.out
    assert list(folder.iterdir()) == []


def test_a_reader_that_stops_early_is_no_error(folder):
    done = subprocess.run(
        f"{PROGRAM} train --cfg job | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("backend:\n", "")


def test_flags_may_stand_between_the_words(rlg):
    assert "seed: 7\n" in rlg("train", "seed=7", "--cfg", "job", "env.num_envs=2").out


@pytest.mark.parametrize("command", [[], ["train"], ["graph"], ["eval"]])
def test_a_short_flag_asks_for_help_too(rlg, command):
    assert rlg(*command, "-h").out == rlg(*command, "--help").out


@pytest.mark.parametrize("command", ["train", "config", "graph"])
def test_the_usage_says_that_overrides_are_taken(rlg, command):
    assert f"rlg {command} [OPTIONS] [KEY=VALUE]..." in rlg(command, "--help").out


def test_a_terminal_sees_what_is_loaded_and_nothing_of_it_afterwards(monkeypatch):
    seen, shown = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(shown, "w") as terminal, waiting_on(terminal, monkeypatch, "loading torch..."):
        assert os.read(seen, 100) == b"\r\x1b[2Kloading torch...\r"
    assert os.read(seen, 100) == b"\r\x1b[2K"
    os.close(seen)


def test_a_log_gets_no_line_about_loading(monkeypatch, tmp_path):
    with (tmp_path / "log").open("w") as log, waiting_on(log, monkeypatch, "loading torch..."):
        pass
    assert (tmp_path / "log").read_text() == ""


@contextmanager
def waiting_on(stream, monkeypatch, text):
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting(text):
        yield
