"""Ranks as processes: what one of them does wrong ends the run, with one line that says it."""

from __future__ import annotations

import io
import mmap
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from rlg.api import run
from rlg.api.config.validate import validate
from rlg.api.phases import exit_code_of
from rlg.api.run import Start, resume, train
from rlg.errors import ExecutionError, RLGError, SpecError
from rlg.execution.engines.ranks import launch
from rlg.execution.engines.ranks.collective import DeadRankError
from rlg.execution.engines.ranks.follower import Leader
from rlg.execution.engines.ranks.launch import Followers, _Process
from rlg.execution.engines.settings import num_ranks
from rlg.tracking.checkpoints.store import CheckpointStore
from rlg.tracking.folder import RunFolder
from rlg.tracking.metrics import read_metrics
from tests.api.runs import config
from tests.execution.parts import plugin
from tests.patience import PATIENCE

DDP: dict[str, Any] = {"type": "ddp", "num_ranks": 2, "timeout": 60.0}
# Rank 0 has environments that work.
ELSEWHERE = "if 'follower' in sys.argv[0]: "
REWARD = "return self.observation_space.sample() * 0, float('{}'), False, False, {{}}"
NAN, HUGE = REWARD.format("nan"), REWARD.format("3e38")


def settings(broken: dict[str, Any], **executor: Any) -> dict[str, Any]:
    found = config() | broken | {"executor": {**DDP, **executor}, "total_timesteps": 10_000}
    found |= {"agent": {"type": "a2c", "n_steps": 4}, "evaluation": {"interval": 0}}
    found |= {"checkpoint": {"interval": 64}, "logger": {"interval": 64, "tensorboard": False}}
    del found["memory"]
    return found


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("raise RuntimeError('no screen')", r"rank 1 failed: .*no screen"),
        ("time.sleep(3600)", r"rank 1 did not answer for 6 s. Raise executor.timeout"),
        (
            "print('no lamp', file=sys.stderr, flush=True); os._exit(7)",
            r"rank 1 died \(exit code 7\): no lamp\.",
        ),
        (NAN, r"rank 1 failed: .*the reward of environment 0 is nan at step"),
        (HUGE, r"train/\w*loss is (inf|nan) at step 96\."),
    ],
    ids=["error", "hang", "exit", "nan", "huge"],
)
def test_a_rank_that_goes_wrong_ends_the_run_which_can_be_resumed(
    action, expected, tmp_path, monkeypatch
):
    name = f"broken_{len(action)}_{len(expected)}"
    broken = plugin(tmp_path, name, ELSEWHERE + action, 40, monkeypatch)
    seconds = 6.0 if "sleep" in action else 60.0
    children = {process.pid for process in psutil.Process().children()}
    with pytest.raises(ExecutionError, match=expected) as found:
        train(settings(broken, timeout=seconds), tmp_path / "run")
    assert exit_code_of(found.value) == 1
    assert "\n" not in str(found.value)
    assert {process.pid for process in psutil.Process().children()} <= children
    status = RunFolder(tmp_path / "run").status
    assert (status.state, status.exit_code) == ("failed", 1)
    step = CheckpointStore(tmp_path / "run" / "checkpoints", read_only=True).latest()
    assert step is not None
    assert step >= 64
    changes = {"executor": {"type": "local"}, "total_timesteps": step + 32}
    assert resume(tmp_path / "run", changes=changes, trust_plugins=True).steps == step + 32


def test_a_rank_that_can_not_be_built_is_a_mistake_in_the_configuration(tmp_path, monkeypatch):
    broken = plugin(tmp_path, "unbuilt", "pass", 10**9, monkeypatch)
    path = tmp_path / "unbuilt_plugin.py"
    path.write_text("import sys\nif 'follower' in sys.argv[0]: 1 / 0\n" + path.read_text())
    children = {process.pid for process in psutil.Process().children()}
    with pytest.raises(RLGError, match=r"rank 1 failed: .*division by zero") as found:
        train(settings(broken), tmp_path / "run")
    assert exit_code_of(found.value) == 2
    assert {process.pid for process in psutil.Process().children()} <= children


def test_a_rank_that_takes_its_time_to_end_is_waited_for_once_its_connection_is_closed(monkeypatch):
    monkeypatch.setattr(launch, "GRACE", 0.1)
    followers = Followers([], 60.0)
    one = joined(followers, "os.close(int(sys.argv[1])); time.sleep(1.0); os._exit(7)")
    with pytest.raises(EOFError):
        one.connection.recv()
    said = followers.explained(None, hung=[1])
    assert (type(said), str(said)) == (DeadRankError, "rank 1 died (exit code 7).")
    followers.kill()


def joined(followers: Followers, code: str) -> _Process:
    """One more follower, which does something else."""
    mine, theirs = socket.socketpair()
    command = [sys.executable, "-c", f"import os, sys, time; {code}", str(theirs.fileno())]
    with theirs:
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
    rank = len(followers._processes) + 1
    made = _Process(rank, process, Connection(mine.detach()), io.BytesIO())
    followers._processes.append(made)
    return made


def test_a_rank_that_does_not_report_hangs_unless_another_one_is_dead(monkeypatch):
    monkeypatch.setattr(launch, "GRACE", 0.1)
    followers = Followers([], 0.3)
    joined(followers, "time.sleep(3600)")
    with pytest.raises(DeadRankError, match=r"^rank 1 did not answer for 0.3 s\."):
        followers.reports()
    followers.timeout = 1e6
    joined(followers, "os._exit(7)")
    with pytest.raises(DeadRankError, match=r"^rank 2 died \(exit code 7\)\."):
        followers.reports()
    followers.kill()


WATCHED = """
import os, subprocess, sys, time
from rlg.execution.engines.ranks.follower import end_with
if len(sys.argv) > 1:
    end_with(int(sys.argv[1]))
    print(os.getpid(), flush=True)
else:
    subprocess.Popen([sys.executable, "-c", sys.orig_argv[2], str(os.getpid())])
time.sleep(3600)
"""


def test_a_rank_that_hangs_ends_with_its_parent():
    with subprocess.Popen([sys.executable, "-c", WATCHED], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        rank = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        assert not psutil.wait_procs([rank], timeout=PATIENCE)[1]


def test_a_hurry_reaches_those_who_follow_until_the_next_command():
    followers = Followers([], 1.0)
    leader = Leader(None, mmap.mmap(followers._flag_file.fileno(), 1))  # type: ignore[arg-type]
    assert not leader.is_hurried()
    followers.hurry()
    assert leader.is_hurried()
    followers.command("iterate")
    assert not leader.is_hurried()
    followers.kill()


def test_the_number_of_ranks_is_that_of_cores_unless_it_is_given():
    checked = validate(settings({}, num_ranks=None))
    assert checked["executor"]["num_ranks"] is None
    assert num_ranks(checked["executor"]) == len(psutil.Process().cpu_affinity() or [])
    assert num_ranks({"type": "ddp", "num_ranks": 5}) == 5
    assert num_ranks({"type": "local"}) == 1
    with pytest.raises(SpecError, match=r"executor.num_ranks.*at least 1, got 0"):
        validate(settings({}, num_ranks=0))


def test_an_agent_without_a_synchronous_loop_is_refused():
    with pytest.raises(SpecError, match=r"executor: ddp offers the loops replay, batches"):
        validate(settings({}) | {"agent": {"type": "a3c", "n_steps": 5}})


def test_runs_with_a_checkpoint_are_restarted_unless_they_are_tests(tmp_path, monkeypatch):
    def dying(*args: Any) -> Any:
        raise DeadRankError("rank 1 died.")

    monkeypatch.setattr(run, "_train", dying)
    monkeypatch.setattr(run, "_resume", lambda *args, **words: pytest.fail("it resumed"))
    text = yaml.safe_dump(settings({}, restarts=3))
    RunFolder.create(tmp_path / "run", text).close()
    with pytest.raises(DeadRankError):
        train({}, tmp_path / "run")
    CheckpointStore(tmp_path / "run" / "checkpoints").save(64, {"model": {}})
    with pytest.raises(DeadRankError):
        train({}, tmp_path / "run", as_test=True)
    lines: list[str] = []

    def dying_again(*args: Any, restart: str, **words: Any) -> Any:
        lines.append(restart)
        raise DeadRankError(f"rank {len(lines) + 1} died.")

    monkeypatch.setattr(run, "_resume", dying_again)
    with pytest.raises(DeadRankError, match=r"^rank 4 died\.$"):
        train({}, tmp_path / "run")
    assert lines == [
        f"rank {n} died. Resumed from the last checkpoint: restart {n} of 3." for n in (1, 2, 3)
    ]


def killing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deaths: int) -> dict[str, Any]:
    """Environments of which each new rank 1 is killed at its 40th step, `deaths` times."""
    notes = tmp_path / "deaths"
    notes.mkdir()
    action = (
        f"count = len(os.listdir({str(notes)!r})); "
        f"count < {deaths} and (open({str(notes)!r} + f'/{{count}}', 'w').close(), "
        "os.kill(os.getpid(), 9))"
    )
    return plugin(tmp_path, f"killing_{deaths}", ELSEWHERE + action, 40, monkeypatch)


def test_a_run_that_loses_ranks_resumes_by_itself_and_counts(tmp_path, monkeypatch):
    broken = killing(tmp_path, monkeypatch, 2)
    starts: list[Start] = []
    children = {process.pid for process in psutil.Process().children()}
    given = settings(broken, restarts=2) | {"total_timesteps": 1024}
    outcome = train(given, tmp_path / "run", on_start=starts.append)
    assert (outcome.exit_code, outcome.steps) == (0, 1024)
    assert {process.pid for process in psutil.Process().children()} <= children
    lines = [start.warnings[0] for start in starts[1:]]
    assert [line.partition(" Resumed")[0] for line in lines] == [
        "rank 1 died (killed by SIGKILL)."
    ] * 2
    assert [line[-15:] for line in lines] == ["restart 1 of 2.", "restart 2 of 2."]
    folder = RunFolder(tmp_path / "run")
    status = folder.status
    assert (status.state, status.restarts, len(status.resumed_from)) == ("done", 2, 2)
    assert outcome.resumed_at == status.resumed_from[-1]["step"] >= 64
    assert lines[0] in folder.log.path.read_text()
    counted = [row["ranks/restarts"] for row in read_metrics(folder.metrics)]
    assert (counted[0], counted[-1]) == (0, 2)


@pytest.mark.parametrize("restarts", [0, 1])
def test_the_rank_that_is_lost_after_all_restarts_ends_the_run(restarts, tmp_path, monkeypatch):
    broken = killing(tmp_path, monkeypatch, 2)
    with pytest.raises(ExecutionError, match=r"^rank 1 died") as found:
        train(settings(broken, restarts=restarts), tmp_path / "run")
    assert exit_code_of(found.value) == 1
    status = RunFolder(tmp_path / "run").status
    assert (status.state, status.exit_code, status.restarts) == ("failed", 1, restarts)
    assert len(list((tmp_path / "deaths").iterdir())) == restarts + 1
