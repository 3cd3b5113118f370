"""The README's examples run as they stand."""

from __future__ import annotations

import re
import runpy
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
