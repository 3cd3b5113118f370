"""PQN on every engine that offers the loop `batches`; on Ray: test_ray_on_policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlg.api.run import resume, train
from rlg.tracking.checkpoints.store import CheckpointStore
from rlg.tracking.folder import RunFolder
from tests.api.runs import course
from tests.api.test_pqn import settings

LOCAL: dict[str, Any] = {"type": "local"}
THREADS: dict[str, Any] = {"type": "threads"}
DDP: dict[str, Any] = {"type": "ddp", "num_ranks": 2}
ONE_RANK: dict[str, Any] = {"type": "ddp", "num_ranks": 1}
QUIET = {"evaluation": {"interval": 0}, "checkpoint": {"interval": 0}}


def model(folder: Path) -> dict[str, Any]:
    """That of the newest checkpoint."""
    found: dict[str, Any] = CheckpointStore(folder / "checkpoints").load().tree["model"]
    return found


@pytest.mark.parametrize("first", [LOCAL, THREADS, DDP], ids=lambda engine: engine["type"])
def test_a_run_finishes_and_its_checkpoint_moves_to_other_engines_and_back(first, tmp_path):
    outcome = train(settings(executor=first, **QUIET), tmp_path)
    assert (outcome.exit_code, outcome.steps) == (0, 512)
    assert RunFolder(tmp_path).status.state == "done"
    for executor in (LOCAL, THREADS, DDP, first):
        before, total = model(tmp_path), outcome.steps + 128
        outcome = resume(tmp_path, changes={"executor": executor, "total_timesteps": total})
        assert (outcome.exit_code, outcome.steps) == (0, total)
        now = model(tmp_path)
        assert before.keys() == now.keys()
        assert all(np.isfinite(value).all() for value in now.values())
        assert any((before[path] != now[path]).any() for path in now)


@pytest.mark.parametrize("executor", [LOCAL, THREADS], ids=lambda engine: engine["type"])
def test_runs_repeat_bit_by_bit(executor, tmp_path):
    for name in ("one", "two"):
        train(settings(executor=executor), tmp_path / name)
    assert course(tmp_path / "one") == course(tmp_path / "two")


def test_one_rank_is_a_local_run_bit_by_bit(tmp_path):
    for executor in (ONE_RANK, LOCAL):
        train(settings(executor=executor), tmp_path / executor["type"])
    assert course(tmp_path / "ddp") == course(tmp_path / "local")
