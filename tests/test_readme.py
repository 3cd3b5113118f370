"""The README's examples run as they stand."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_there_is_an_example():
    assert BLOCKS


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_python_examples_run(block, tmp_path):
    script = tmp_path / "example.py"
    script.write_text(block)
    runpy.run_path(str(script), run_name="__main__")


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_the_example_scripts_run(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert "largest difference between backends" in capsys.readouterr().out


COMMANDS = re.findall(r"^    (rlg train .*?)\s*(?:#.*)?$", README, re.MULTILINE)
# The README's commands, made short.
SHORT = [
    "total_timesteps=512",
    "evaluation.interval=0",
    "logger.tensorboard=false",
    "agent.learning_starts=64",
]


def test_there_are_commands():
    assert len(COMMANDS) >= 4


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_run(command, tmp_path):
    words = [*shlex.split(command)[1:], *SHORT]
    result = subprocess.run(
        [sys.executable, "-m", "rlg", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert list(tmp_path.glob("**/status.json"))
