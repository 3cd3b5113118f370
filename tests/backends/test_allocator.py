"""Freed blocks are used again without page faults, unless the user has set the allocator up."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

SCRIPT = """
import resource
import numpy as np
from rlg.backends.executor import make_executor
make_executor("numpy")
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(60 << 20, "uint8")  # freed at once
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
first, again = faults(), faults()
print(first, again)
"""


def faults_of(**environment: str) -> tuple[int, int]:
    """Page faults of a block of 60 MiB, and of another one after it was freed."""
    env: dict[str, Any] = {**os.environ, **environment}
    output = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=env
    ).stdout
    first, again = map(int, output.split())
    return first, again


pytestmark = pytest.mark.skipif(
    not hasattr(__import__("ctypes").CDLL(None), "mallopt"), reason="another allocator than glibc's"
)


def test_a_freed_block_is_used_again_without_page_faults() -> None:
    first, again = faults_of()
    assert first > 20  # The system may hand out huge pages of 2 MiB: 30 of them.
    assert again < 5


def test_a_user_who_set_the_allocator_up_keeps_that() -> None:
    first, again = faults_of(MALLOC_MMAP_THRESHOLD_="131072")
    assert again > 20
    assert first > 20
