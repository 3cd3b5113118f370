"""`rlg` as a function: in this process, in an empty folder, with what it printed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE

PROGRAM = Path(sys.executable).parent / "rlg"
# A run of a second: 640 steps, 40 updates.
TINY = [
    "total_timesteps=600",
    "agent.learning_starts=100",
    "agent.train_freq=64",
    "agent.gradient_steps=4",
    "network.units=[16]",
    "memory.buffer_size=1000",
    "evaluation.episodes=4",
]


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def folder(self) -> Path:
        """The run's folder, as the summary names it."""
        (line,) = [line for line in self.out.splitlines() if line.startswith("results:")]
        return Path(line.partition(":")[2].strip())


Program = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    return tmp_path


@pytest.fixture
def rlg(folder: Path, capfd: pytest.CaptureFixture[str]) -> Program:
    """The program in this process: frameworks are loaded once for all tests."""
    from rlg.cli.main import main

    def run(*words: str) -> Result:
        capfd.readouterr()
        code = main(list(words))
        return Result(code, *capfd.readouterr())

    return run


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    """Runs set the number of torch's threads for the process; other tests want theirs back."""
    before = _torch_threads()
    yield
    after = _torch_threads()
    if before is not None and after != before:
        sys.modules["torch"].set_num_threads(before)


def _torch_threads() -> int | None:
    torch: Any = sys.modules.get("torch")
    return None if torch is None else int(torch.get_num_threads())


@pytest.fixture
def process(folder: Path) -> Program:
    """The installed program in a process of its own."""

    def run(*words: str, **environment: str) -> Result:
        done = subprocess.run(
            [PROGRAM, *words],
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    return run
