"""Runs whose updates are shared by replicas."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from rlg.api.run import Start, resume, train
from tests.api.runs import config, course


def settings(replicas: int, total_timesteps: int) -> dict[str, Any]:
    backend = {"type": "torch", "threads": 1, "replicas": replicas}
    run = {**config(total_timesteps=total_timesteps), "backend": backend}
    run["checkpoint"]["interval"] = 256
    return run


def test_a_run_with_replicas_resumes_exactly_and_leaves_no_thread(tmp_path):
    starts: list[Start] = []
    train(settings(2, 512), tmp_path, on_start=starts.append)
    expected = course(tmp_path)
    assert resume(tmp_path, checkpoint=256).resumed_at == 256
    assert course(tmp_path) == expected
    assert starts[0].line.endswith(": torch on cpu, threads: 1 for each of 2 replicas")
    left = [t.name for t in threading.enumerate() if t.name.startswith("rlg-replica")]
    assert left == []


def test_a_run_says_where_its_replicas_are(tmp_path):
    starts: list[Start] = []
    run = settings(1, 128)
    run["backend"]["replica_devices"] = ["cpu", "cpu"]
    train(run, tmp_path, on_start=starts.append)
    assert starts[0].line.endswith(": torch on cpu, threads: 1 for each of 2 replicas on cpu, cpu")


def test_the_first_updates_of_a_run_are_those_of_one_replica(tmp_path):
    losses = []
    for replicas in (1, 2):
        train(settings(replicas, 128), tmp_path / str(replicas))
        _, _, rows = course(tmp_path / str(replicas))
        losses.append([row["train/loss"] for row in rows if "train/loss" in row])
    assert len(losses[0]) >= 1
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)
