"""`kill -9` while a run writes checkpoints, again and again: see scripts/chaos_checkpoints.py."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.tracking.processes import ROOT


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_fifty_kills_during_checkpoint_writes_never_lose_a_run(backend):
    words = [sys.executable, "scripts/chaos_checkpoints.py", "--kills", "50", "--backend", backend]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "50 resumes" in done.stdout
