"""Every case of the bank is checked somewhere."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.bank import CASES, COVERED

ROOT = Path(__file__).parent


def test_no_case_of_the_bank_is_left_out():
    files = [path for path in sorted(ROOT.rglob("test_*.py")) if "tests.bank" in path.read_text()]
    for path in files:
        importlib.import_module(".".join(path.relative_to(ROOT.parent).with_suffix("").parts))
    print(f"{len(COVERED)} of {len(CASES)} cases of the bank are covered")  # noqa: T201
    assert CASES.keys() == COVERED
    assert len(CASES) == 73
