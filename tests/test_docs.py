"""What the README and the pages of docs/ show runs as it stands there."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import pytest

from rlg.cli.main import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Commands that train are made short; pages may say so themselves.
SHORT = ["total_timesteps=512", "agent.learning_starts=64", "evaluation.episodes=2"]
SHORT += ["evaluation.max_steps=100"]


ON_POLICY = {"agent=ppo", "agent=a2c"}


def python_of(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def commands_of(page: Path) -> list[str]:
    """Lines that begin with `rlg`, indented by four; not those inside of Python."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^    (rlg [^#\n]*?)\s*(?:#.*)?$", text, re.MULTILINE)


BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{n}")
    for page in PAGES
    for n, block in enumerate(python_of(page))
]
WITH_COMMANDS = [page for page in PAGES if commands_of(page)]


def test_there_is_something_to_run():
    assert len(BLOCKS) >= 2
    assert sum(len(commands_of(page)) for page in PAGES) >= 30


@pytest.mark.parametrize("block", BLOCKS)
def test_the_python_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "example.py"
    script.write_text(block)
    runpy.run_path(str(script), run_name="__main__")


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_the_example_scripts_run(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert "largest difference between backends" in capsys.readouterr().out


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for command in commands_of(page):
        words = shlex.split(command)[1:]
        if words[0] == "train" and not {"--cfg", "--info"} & set(words):
            # On-policy agents learn from the first step on.
            known = [word for word in SHORT if not (ON_POLICY & set(words) and "starts" in word)]
            words += [word for word in known if word.partition("=")[0] not in command]
        if "backend=tf" in words:
            # A process that has used TensorFlow, as this one, can't set its threads again.
            words.append("backend.threads=null")
        assert main(words) == 0, f"{command}\n{capfd.readouterr().err}"
