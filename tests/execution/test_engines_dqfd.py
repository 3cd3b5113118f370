"""DQfD in several processes: each begins with all demonstrations, and checkpoints move."""

from __future__ import annotations

import pytest

from rlg.api.run import resume, train
from rlg.tracking.checkpoints.store import CheckpointStore
from tests.api.test_dqfd import settings

DDP = {"type": "ddp", "num_ranks": 2}


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_ranks_learn_from_demonstrations_and_checkpoints_move(tmp_path):
    folder = tmp_path / "run"
    first = train(settings(tmp_path, executor=DDP), folder)
    assert first.exit_code == 0
    # Both ranks make the first updates together, from 60 demonstrations of their own.
    assert first.updates >= 250
    memory = CheckpointStore(folder / "checkpoints").load().tree["memory"]
    own = sum(len(batch["priorities"]) for batch in memory["batches"])
    assert 0 < own <= first.steps
    assert (
        resume(folder, changes={"executor": {"type": "local"}, "total_timesteps": 512}).steps == 512
    )
    memory = CheckpointStore(folder / "checkpoints").load().tree["memory"]
    assert memory["agent/memory/kept"] == 60
    assert memory["agent/memory/size"] > 60
    assert resume(folder, changes={"executor": DDP, "total_timesteps": 640}).exit_code == 0
