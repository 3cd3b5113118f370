"""Every engine keeps the promises of the suite."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from rlg.api.run import resume, train
from tests.api.runs import config, course
from tests.execution.suite import EVERY, ExecutorSuite, FragileSuite, ProcessSuite, RepeatingSuite

LOCAL: dict[str, Any] = {"type": "local"}
THREADS: dict[str, Any] = {"type": "threads"}
DDP: dict[str, Any] = {"type": "ddp", "num_ranks": 2}
ONE_RANK: dict[str, Any] = {"type": "ddp", "num_ranks": 1}


class TestLocal(RepeatingSuite, ExecutorSuite):
    executor = alone = LOCAL


class TestThreads(RepeatingSuite, ExecutorSuite):
    executor = alone = THREADS


class TestDDP(RepeatingSuite, FragileSuite, ExecutorSuite):
    executor = DDP
    alone = ONE_RANK
    least = 1

    def test_one_rank_is_a_local_run_bit_by_bit_and_resumes_as_one(self, tmp_path):
        runs = {"ddp": self.alone, "local": {"type": "local"}}
        for name, executor in runs.items():
            train(config() | {"executor": executor, "total_timesteps": 768}, tmp_path / name)
            resume(tmp_path / name, changes={"total_timesteps": 1024})
        assert course(tmp_path / "ddp") == course(tmp_path / "local")

    @pytest.mark.slow
    def test_two_ranks_repeat_too(self, tmp_path):
        courses = []
        for name in ("one", "two"):
            train(self.settings(total_timesteps=768), tmp_path / name)
            step, digests, rows = course(tmp_path / name)
            courses.append((step, digests, [_without(row, "ranks/") for row in rows]))
        assert courses[0] == courses[1]


def _without(row: dict[str, Any], lead: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not name.startswith(lead)}


@pytest.mark.slow
class TestRay(ProcessSuite, ExecutorSuite):
    executor: ClassVar[dict[str, Any]] = {
        "type": "ray",
        "num_workers": 2,
        "task_steps": 8,
        "object_store_gb": 0.2,
        "evaluator": False,
    }
    agent: ClassVar[dict[str, Any]] = {**config()["agent"], "type": "apex"}
    memory: ClassVar[dict[str, Any]] = {"type": "prioritized_replay", "buffer_size": 3000}
    others = EVERY
    least = 4
