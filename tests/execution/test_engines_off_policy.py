"""SAC on every engine that offers a replay loop."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from tests.execution.suite import ExecutorSuite, RepeatingSuite

LOCAL: dict[str, Any] = {"type": "local"}
THREADS: dict[str, Any] = {"type": "threads"}
SAC: dict[str, Any] = {
    "type": "sac",
    "batch_size": 16,
    "learning_starts": 64,
    "train_freq": 32,
    "gradient_steps": 6,
}


class TestLocal(RepeatingSuite, ExecutorSuite):
    executor = alone = LOCAL
    agent = SAC


class TestThreads(RepeatingSuite, ExecutorSuite):
    executor = alone = THREADS
    agent = SAC


class TestDDP(ExecutorSuite):
    executor: ClassVar[dict[str, Any]] = {"type": "ddp", "num_ranks": 2}
    agent = SAC


@pytest.mark.slow
class TestRay(ExecutorSuite):
    executor: ClassVar[dict[str, Any]] = {
        "type": "ray",
        "num_workers": 2,
        "task_steps": 8,
        "object_store_gb": 0.2,
        "evaluator": False,
    }
    agent = SAC


@pytest.mark.slow
class TestRayPrioritized(TestRay):
    agent: ClassVar[dict[str, Any]] = {**SAC, "n_step": 3}
    memory: ClassVar[dict[str, Any]] = {"type": "prioritized_replay", "buffer_size": 3000}
