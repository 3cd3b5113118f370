"""executor=tf_cluster with its processes: what dies on the way, what is left, what is resumed."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from rlg.api.agents.factory import ConfiguredAgents
from rlg.api.config.validate import validate
from rlg.api.phases import exit_code_of
from rlg.api.run import resume, train
from rlg.errors import ExecutionError, SpecError
from rlg.execution.engines import open_engine
from rlg.execution.engines.tf_cluster import children
from rlg.execution.engines.tf_cluster.actor import Setup
from rlg.execution.engines.tf_cluster.children import Children
from rlg.execution.engines.tf_cluster.engine import tasks_of
from rlg.execution.engines.tf_cluster.tasks import Tasks
from rlg.execution.roles import never
from rlg.tracking.checkpoints.store import CheckpointStore
from tests.api.runs import config
from tests.execution.parts import RUN, child
from tests.execution.suite import ExecutorSuite, ProcessSuite
from tests.patience import PATIENCE

CLUSTER = {"type": "tf_cluster", "num_actors": 1}
IMPALA = {"type": "impala", "n_steps": 8, "batch_rollouts": 2, "queue": 3}
A3C = {"type": "a3c", "n_steps": 8}


class ClusterSuite(ExecutorSuite, ProcessSuite):
    executor: ClassVar[dict[str, Any]] = CLUSTER
    agent: ClassVar[dict[str, Any]] = IMPALA
    least = 1

    def settings(self, **changes: Any) -> dict[str, Any]:
        given = {"backend": {"type": "tf-graph"}, "optimizer": {"type": "rmsprop"}}
        return super().settings(**given, **changes)

    @staticmethod
    def saved(folder: Path) -> tuple[set[bytes], dict[str, Any]]:
        """Of an agent without a memory the steps are what is kept."""
        tree = CheckpointStore(folder / "checkpoints").load().tree
        steps = range(tree["counters"]["clock"]["steps"])
        return {bytes(str(step), "ascii") for step in steps}, tree["model"]


class TestCluster(ClusterSuite):
    @pytest.mark.slow
    def test_a_run_finishes_and_its_checkpoint_moves_to_other_engines_and_back(self, tmp_path):
        super().test_a_run_finishes_and_its_checkpoint_moves_to_other_engines_and_back(tmp_path)

    @pytest.mark.parametrize(
        "number",
        [
            pytest.param(signal.SIGINT, marks=pytest.mark.slow),
            pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
            signal.SIGKILL,
        ],
    )
    def test_a_run_that_is_stopped_leaves_no_process_and_can_be_resumed(self, tmp_path, number):
        super().test_a_run_that_is_stopped_leaves_no_process_and_can_be_resumed(tmp_path, number)


class TestGradients(ClusterSuite):
    """A3C: gradients and not rollouts go to the learner."""

    agent: ClassVar[dict[str, Any]] = A3C
    others: ClassVar[tuple[Any, ...]] = ({"type": "local"},)

    @pytest.mark.slow
    def test_a_run_finishes_and_its_checkpoint_moves_to_other_engines_and_back(self, tmp_path):
        super().test_a_run_finishes_and_its_checkpoint_moves_to_other_engines_and_back(tmp_path)

    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
    def test_a_run_that_is_stopped_leaves_no_process_and_can_be_resumed(self, tmp_path, number):
        super().test_a_run_that_is_stopped_leaves_no_process_and_can_be_resumed(tmp_path, number)


# Each with the steps of an update: of 4 environments.
AGENTS = {"impala": (IMPALA, 64), "a3c": (A3C, 32)}


@pytest.fixture(params=AGENTS)
def kind(request: Any) -> str:
    return str(request.param)


@pytest.fixture
def loop(kind: str) -> Iterator[Any]:
    checked = validate(ClusterSuite().settings(agent=AGENTS[kind][0]))
    made = open_engine(ConfiguredAgents(checked), checked["executor"], 1000)
    made.start()
    yield made
    made.close()


def updated(loop: Any, until: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < deadline
        loop.iterate(never)


def test_an_actor_that_is_killed_is_restarted_and_rejoins(loop, kind):
    updated(loop, lambda: loop.clock.updates >= 3)
    os.kill(loop.pool._children._children[0].process.pid, signal.SIGKILL)
    updated(loop, lambda: loop.pool.restarts == 1)
    before = loop.pool.workers()["actor 0"]["steps"]
    # The dead one left a queue and a rollout at most.
    updated(loop, lambda: loop.pool.workers()["actor 0"]["steps"] > before + 5 * 32)
    assert loop.clock.steps == AGENTS[kind][1] * loop.clock.updates
    assert loop.statistics()["cluster/actor_restarts"] == 1.0
    assert loop.pool.workers()["actor 0"]["restarts"] == 1.0
    assert loop.pool._children._children[0].failures == 0  # It rolled out since.


@pytest.mark.slow
def test_an_actor_of_its_own_joins_a_learner_again_that_was_killed_and_resumed(tmp_path):
    tasks = Tasks.on_this_machine(1)
    cluster = {"learner": tasks.learner, "actors": list(tasks.actors)}
    executor = {"type": "tf_cluster", "cluster": cluster, "patience": PATIENCE}
    quiet = {"total_timesteps": 10**7, "evaluation": {"interval": 0}}
    acting = ClusterSuite().settings(executor={**executor, "task": "actor/0"}, **quiet)
    (tmp_path / "actor.yaml").write_text(yaml.safe_dump(acting))
    command = [sys.executable, "-c", RUN, str(tmp_path / "actor.yaml"), str(tmp_path / "none")]
    folder = tmp_path / "run"
    learning = ClusterSuite().settings(executor={**executor, "task": "learner"}, **quiet)
    with subprocess.Popen(command) as actor:
        try:
            with child(learning, folder, PATIENCE) as (process, family):
                assert family == []
                process.kill()
                process.wait()
            step = CheckpointStore(folder / "checkpoints", read_only=True).latest()
            assert step is not None
            outcome = resume(folder, changes={"total_timesteps": step + 2000})
            assert outcome.exit_code == 0
            assert outcome.steps >= step + 2000
            assert actor.wait(PATIENCE) == 0
        finally:
            actor.kill()
    assert not (tmp_path / "none").exists()


# -- children alone -------------------------------------------------------------------------------
class Unloadable:
    """A factory that does something else where it arrives."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = (function, args)

    def __reduce__(self) -> Any:
        return self.call


def started(factory: Unloadable, timeout: float = 60.0) -> Children:
    tasks = Tasks.on_this_machine(1)
    return Children([Setup(factory, tasks, 0, 0, 5.0)], timeout)  # type: ignore[arg-type]


@pytest.fixture
def hasty(monkeypatch: Any) -> None:
    monkeypatch.setattr(children, "BACKOFF", 0.01)


def test_an_actor_that_always_fails_ends_the_run_with_its_own_words(hasty):
    made = started(Unloadable(importlib.import_module, "no_such_module"))
    said = r"^actor 0 failed 3 times in a row: exit code 1: ModuleNotFoundError: No module"
    try:
        with pytest.raises(ExecutionError, match=said):
            looked(made, lambda: False)
        assert made.restarts == [2]
    finally:
        made.close()


def looked(made: Children, until: Any, is_full: bool = False) -> None:
    deadline = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < deadline
        made.look(is_full)
        time.sleep(0.02)


def test_an_actor_that_somebody_kills_is_restarted_more_often_than_one_that_fails(hasty):
    made = started(Unloadable(time.sleep, 1000.0))
    streams = {made._children[0].setup.stream}
    try:
        for count in range(1, children.FAILURES + 2):
            made._children[0].process.kill()
            looked(made, lambda count=count: made.restarts == [count])
            streams.add(made._children[0].setup.stream)
        assert len(streams) == children.FAILURES + 2  # Each start has draws of its own.
    finally:
        made.close()


def test_an_actor_that_hangs_is_restarted_unless_it_waits_for_room(hasty):
    made = started(Unloadable(time.sleep, 1000.0), timeout=0.3)
    try:
        first = made._children[0].process
        made.heard(0)
        deadline = time.monotonic() + 1.0
        looked(made, lambda: time.monotonic() > deadline, is_full=True)
        assert first.poll() is None
        looked(made, lambda: made.restarts == [1])
        assert first.poll() == -signal.SIGKILL
        second = made._children[0].process
        assert second.poll() is None
        # Its first rollout takes longer: frameworks are loaded.
        deadline = time.monotonic() + 1.0
        looked(made, lambda: time.monotonic() > deadline)
        assert made.restarts == [1]
    finally:
        made.close()
    assert second.poll() is not None


def test_an_actor_leaves_when_its_connection_is_closed():
    made = started(Unloadable(time.sleep, 1000.0))
    process = made._children[0].process
    time.sleep(0.1)
    made._children[0].connection.close()
    assert process.wait(PATIENCE) == 0
    made.close()


# -- configuration --------------------------------------------------------------------------------
@pytest.mark.parametrize("agent", [IMPALA, A3C])
def test_another_backend_is_refused_by_name(agent):
    given = ClusterSuite().settings(agent=agent) | {"backend": {"type": "torch"}}
    with pytest.raises(SpecError, match=r"runs on tf-graph, not on torch. Write backend=tf_graph"):
        validate(given)


@pytest.mark.parametrize("agent", [config()["agent"], {"type": "a2c"}, {"type": "ppo"}])
def test_another_agent_is_refused_by_name(agent):
    given = ClusterSuite().settings() | {"agent": agent}
    said = f"tf_cluster offers the loops fused_actor_learner, but agent {agent['type']} runs on"
    with pytest.raises(SpecError, match=said) as error:
        validate(given)
    assert exit_code_of(error.value) == 2


TWO = {"learner": "127.0.0.1:4000", "actors": ["127.0.0.1:4001", "127.0.0.1:4002"]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"task": "learner"}, "executor.task: one task by itself needs the addresses of all"),
        ({"task": "actor/0"}, "executor.task: one task by itself needs the addresses of all"),
        ({"task": "actor/2", "cluster": TWO}, "executor.task: the cluster has 2 actors"),
        ({"task": "player", "cluster": TWO}, "expected learner or actor/NUMBER, got 'player'"),
        ({"cluster": TWO}, "executor.num_actors: must be 2, as in executor.cluster, got 1"),
    ],
)
def test_tasks_that_are_none_are_refused(tmp_path, changes, said):
    with pytest.raises(SpecError, match=said) as error:
        train(ClusterSuite().settings(executor={**CLUSTER, **changes}), tmp_path / "run")
    assert exit_code_of(error.value) == 2


def test_addresses_are_those_of_the_configuration():
    settings = {"task": "learner", "cluster": TWO, "num_actors": None}
    assert tasks_of(settings) == Tasks(TWO["learner"], tuple(TWO["actors"]))
    found = tasks_of({"task": None, "cluster": None, "num_actors": 2})
    assert len({found.learner, *found.actors}) == 3
