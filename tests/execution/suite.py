"""What every engine promises: test classes inherit it, and say how their engine is configured."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import psutil
import pytest

from rlg.api.run import resume, train
from rlg.execution.engines.ranks.collective import DeadRankError
from rlg.tracking.checkpoints.store import CheckpointStore
from rlg.tracking.folder import RunFolder
from rlg.tracking.metrics import read_metrics
from tests.api.runs import config, course
from tests.execution.parts import child
from tests.patience import PATIENCE

QUIET = {"evaluation": {"interval": 0}, "checkpoint": {"interval": 0}}
# Engines that need no cluster and no other process, which any checkpoint can move to.
ENGINES: tuple[Any, ...] = ({"type": "local"}, {"type": "threads"})
# With one that saves what several processes hold, as Ray and Horovod do.
EVERY: tuple[Any, ...] = (*ENGINES, {"type": "ddp", "num_ranks": 2})


class ExecutorSuite:
    """Every engine."""

    executor: ClassVar[dict[str, Any]]
    others: ClassVar[tuple[Any, ...]] = ENGINES  # which a checkpoint moves to, one after the other
    agent: ClassVar[dict[str, Any]] = config()["agent"]
    memory: ClassVar[dict[str, Any]] = {"type": "replay", "buffer_size": 3000}

    def settings(self, **changes: Any) -> dict[str, Any]:
        parts = {"agent": self.agent, "memory": self.memory, "executor": self.executor}
        return config() | parts | changes

    def test_a_run_finishes_and_its_checkpoint_moves_to_other_engines_and_back(self, tmp_path):
        folder = tmp_path / "run"
        outcome = train(self.settings(**QUIET, total_timesteps=640), folder)
        assert outcome.exit_code == 0
        assert outcome.steps >= 640
        assert outcome.updates > 0
        assert RunFolder(folder).status.state == "done"
        rows = read_metrics(folder / "metrics.jsonl")
        # Episodes of all processes: a random policy plays 22 steps of CartPole.
        assert rows[-1]["rollout/ep_len_mean"] > 8
        held, model = self.saved(folder)
        assert 0.8 * outcome.steps <= len(held) <= outcome.steps
        for executor in (*self.others, self.executor):
            total = outcome.steps + 256
            changes = {"executor": executor, "total_timesteps": total}
            outcome = resume(folder, changes=changes)
            assert outcome.exit_code == 0
            assert outcome.steps >= total
            before, now = model, self.saved(folder)
            # The memory is larger than the run: nothing is lost on the way.
            assert held <= now[0]
            assert len(now[0]) > len(held)
            held, model = now
            assert before.keys() == model.keys()
            assert any((before[path] != model[path]).any() for path in model)

    @staticmethod
    def saved(folder: Path) -> tuple[set[bytes], dict[str, Any]]:
        """The states of all records in the newest checkpoint, and its model."""
        tree = CheckpointStore(folder / "checkpoints").load().tree
        memory = tree["memory"]
        if "batches" in memory:
            states = np.concatenate([batch["records"]["states"] for batch in memory["batches"]])
        else:
            states = memory["agent/memory/states"][: int(memory["agent/memory/size"])]
        return {state.tobytes() for state in states}, tree["model"]


class RepeatingSuite:
    """Engines whose runs are functions of their configuration: beside ExecutorSuite."""

    alone: ClassVar[dict[str, Any]]  # the engine in its smallest size

    def test_runs_repeat_bit_by_bit(self, tmp_path):
        courses = []
        for name in ("one", "two"):
            given = self.settings(executor=self.alone, total_timesteps=768)  # type: ignore[attr-defined]
            train(given, tmp_path / name)
            courses.append(course(tmp_path / name))
        assert courses[0] == courses[1]


class ProcessSuite:
    """Engines with other processes: beside ExecutorSuite."""

    least: ClassVar[int]  # processes that a run starts, at least

    def begun(self, folder: Path) -> Any:
        given = self.settings(total_timesteps=10**7, evaluation={"interval": 0})  # type: ignore[attr-defined]
        return child(given, folder, PATIENCE)

    def signalled(self, process: Any, family: list[psutil.Process]) -> list[Any]:
        """Who gets a signal that asks the run to stop."""
        return [process]

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    def test_a_run_that_is_stopped_leaves_no_process_and_can_be_resumed(self, tmp_path, number):
        folder = tmp_path / "run"
        with self.begun(folder) as (process, family):
            assert len(family) >= self.least
            is_kill = number == signal.SIGKILL
            for one in [process] if is_kill else self.signalled(process, family):
                one.send_signal(number)
            output = process.communicate(timeout=PATIENCE)[0].decode()
        assert process.returncode == (-9 if number == signal.SIGKILL else 130), output
        self.assert_resumable(folder, family, number == signal.SIGKILL)

    @staticmethod
    def assert_resumable(folder: Path, family: list[psutil.Process], at_checkpoint: bool) -> None:
        _, alive = psutil.wait_procs(family, timeout=PATIENCE)
        assert not alive
        store = CheckpointStore(folder / "checkpoints", read_only=True)
        step = store.latest()
        assert step is not None
        if at_checkpoint:  # nobody could save: those of the interval are there
            assert step % 512 < 64
        changes = {"executor": {"type": "local"}, "total_timesteps": step + 64}
        assert resume(folder, changes=changes).exit_code == 0


class FragileSuite(ProcessSuite):
    """Engines that end with the first process that dies: beside ExecutorSuite."""

    def signalled(self, process: Any, family: list[psutil.Process]) -> list[Any]:
        """All of them: a terminal's Ctrl-C and a scheduler's SIGTERM are for the whole group."""
        return [*family, process]

    def test_a_process_that_dies_ends_the_run_which_can_be_resumed(self, tmp_path, monkeypatch):
        folder = tmp_path / "run"
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
        with self.begun(folder) as (process, family):
            assert {other.environ()["OMP_NUM_THREADS"] for other in family} == {"1"}
            family[-1].kill()
            output = process.communicate(timeout=PATIENCE)[0].decode()
        assert process.returncode == 1, output
        status = RunFolder(folder).status
        assert status.state == "failed"
        assert status.error == "rank 1 died (killed by SIGKILL)."
        assert f"{DeadRankError.__name__}: {status.error}" in output
        self.assert_resumable(folder, family, True)
