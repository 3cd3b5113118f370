"""The bank of reference cases: inputs and expected numbers that no code of this project made.

A test file takes `runs` for cases that components compute on every backend, or `covers` for tests
that look at a case by themselves. `tests/test_bank.py` counts that none is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Runner = Callable[[str, dict[str, Any]], dict[str, Any]]
Test = TypeVar("Test", bound=Callable[..., Any])

FILE = Path(__file__).parent / "data" / "cases.json"
CASES = {case["name"]: case for case in json.loads(FILE.read_text(encoding="utf-8"))["cases"]}
COVERED: set[str] = set()


def runs(name: str, runners: dict[str, Runner]) -> Callable[[Runner], Runner]:
    """Notes which case a function runs: it gives what the case expects, by the same names."""

    def note(runner: Runner) -> Runner:
        runners[name] = covers(name)(runner)
        return runner

    return note


def covers(*names: str) -> Callable[[Test], Test]:
    """Notes which cases a test checks."""
    unknown = [name for name in names if name not in CASES]
    assert not unknown, f"the bank has no {unknown}"
    COVERED.update(names)
    return lambda test: test
