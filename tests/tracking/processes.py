"""Python code in a process of its own, with warnings as errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]


def words(code: str, *arguments: object) -> list[str]:
    return [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(words(code, *arguments), cwd=ROOT, stdout=pipe, stderr=pipe, text=True)


def run(code: str, *arguments: object) -> str:
    done = subprocess.run(
        words(code, *arguments),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
