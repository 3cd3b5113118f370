"""`rlg --help`: what it says, and what it doesn't load."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import rlg as package
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
