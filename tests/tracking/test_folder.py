"""Promises of run folders: complete, locked while in use, with a status that is always readable."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys

import pytest

from rlg.tracking import RunFolder, TrackingError
from rlg.tracking.meta import describe, differences, git_state
from tests.tracking.processes import run, start

HOLDER = """
import sys, time
from rlg.tracking import RunFolder
folder = RunFolder.create(sys.argv[1], "seed: 3")
print("ready", flush=True)
time.sleep(60)
"""

WRITER = """
import sys
from rlg.tracking import RunFolder
folder = RunFolder.open(sys.argv[1])
step = 0
while True:
    step += 1
    folder.update(steps=step, updates=step, error="x" * (step % 5000))
    if step == 3:
        print("ready", flush=True)
"""


def test_a_new_folder_says_what_runs(tmp_path):
    folder = RunFolder.create(
        tmp_path / "a" / "b", "agent: dqn\n", seed=3, command=["rlg", "train"]
    )
    with folder:
        assert folder.read_config() == "agent: dqn\n"
        meta = folder.read_meta()
        assert (meta["seed"], meta["command"]) == (3, ["rlg", "train"])
        assert {"python", "rlg", "numpy", "torch", "tensorflow", "ray", "gymnasium"} <= set(
            meta["versions"]
        )
        assert meta["machine"]["cores"] >= meta["machine"]["usable_cores"] >= 1
        assert meta["machine"]["memory"] > 1e8
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", meta["started"])
        status = folder.status
        assert (status.state, status.steps, status.exit_code) == ("running", 0, None)
        assert folder.checkpoints.is_dir()
        assert folder.owner == os.getpid()
    assert (folder.status.state, folder.status.exit_code) == ("done", 0)
    assert folder.status.finished
    assert folder.owner is None


def test_meta_names_frameworks_without_importing_them(tmp_path):
    heavy = ["torch", "tensorflow", "ray", "gymnasium", "tensorboard", "rich"]
    code = f"""
import sys
from rlg.tracking import *
RunFolder.create(sys.argv[1], "").close()
print([name for name in {heavy} if name in sys.modules])
"""
    assert run(code, tmp_path).strip() == "[]"


def test_git_commit_and_changes_are_noted(tmp_path):
    def git(*words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    assert git_state(tmp_path) is None
    git("init")
    assert git_state(tmp_path) is None
    git("commit", "--allow-empty", "-m", "first")
    state = git_state(tmp_path)
    assert re.fullmatch(r"[0-9a-f]{40}", state["commit"])
    assert state["dirty"] is False
    (tmp_path / "new.py").write_text("")
    assert git_state(tmp_path) == {"commit": state["commit"], "dirty": True}


def test_a_resumed_run_is_told_what_changed():
    now = describe()
    before = json.loads(json.dumps(now))
    assert differences(before, now) == []
    before["versions"]["torch"] = "1.0"
    del before["versions"]["numpy"]
    before["machine"]["usable_cores"] = 99
    assert differences(before, now) == [
        f"numpy: none -> {now['versions']['numpy']}",
        f"torch: 1.0 -> {now['versions']['torch']}",
        f"usable_cores: 99 -> {now['machine']['usable_cores']}",
    ]


# -- status ---------------------------------------------------------------------------------------
def test_an_error_ends_as_failed_with_its_line(tmp_path):
    with pytest.raises(ZeroDivisionError), RunFolder.create(tmp_path, ""):
        raise ZeroDivisionError("a\n  b")
    status = RunFolder(tmp_path).status
    assert (status.state, status.exit_code) == ("failed", 1)
    assert status.error == "ZeroDivisionError: a b"


def test_an_interrupt_ends_as_interrupted(tmp_path):
    with pytest.raises(KeyboardInterrupt), RunFolder.create(tmp_path, ""):
        raise KeyboardInterrupt
    status = RunFolder(tmp_path).status
    assert (status.state, status.exit_code, status.error) == ("interrupted", 130, None)


def test_what_the_run_said_itself_stays(tmp_path):
    with RunFolder.create(tmp_path, "") as folder:
        folder.finish("failed", exit_code=3, error="reward 12 is below 450")
    status = folder.status
    assert (status.state, status.exit_code, status.error) == ("failed", 3, "reward 12 is below 450")


def test_resumes_are_listed(tmp_path):
    with RunFolder.create(tmp_path, "") as folder:
        folder.finish("interrupted", exit_code=130)
    for step in (100, 200):
        with RunFolder.open(tmp_path) as folder:
            folder.resumed(step)
            assert (folder.status.state, folder.status.finished) == ("running", None)
    assert [entry["step"] for entry in folder.status.resumed_from] == [100, 200]
    assert folder.status.state == "done"


def test_the_status_is_valid_json_whatever_an_evaluation_gave(tmp_path):
    with RunFolder.create(tmp_path, "") as folder:
        folder.update(steps=5, last_evaluation={"step": 5, "mean_reward": math.nan})

    def refuse(name: str) -> None:
        raise AssertionError(name)

    content = json.loads(folder.status_file.read_text(), parse_constant=refuse)
    assert content["last_evaluation"] == {"step": 5, "mean_reward": "NaN"}


def test_unknown_states_are_refused(tmp_path):
    with RunFolder.create(tmp_path, "") as folder:
        with pytest.raises(TrackingError, match="no state 'dead'; use one of running, done"):
            folder.update(state="dead")
        assert folder.status.state == "running"


def test_the_status_can_be_read_at_any_moment_and_after_a_kill(tmp_path):
    RunFolder.create(tmp_path, "").close()
    writer = start(WRITER, tmp_path)
    try:
        assert writer.stdout.readline() == "ready\n"
        looker = RunFolder(tmp_path)
        for _ in range(300):
            status = looker.status
            assert status.steps == status.updates
            assert len(status.error) == status.steps % 5000
    finally:
        writer.kill()
        writer.communicate()
    assert looker.status.state == "running"
    assert looker.owner is None


def test_a_failed_write_keeps_the_old_status(tmp_path):
    code = """
import resource, sys
from rlg.tracking import RunFolder
folder = RunFolder.create(sys.argv[1], "")
folder.update(steps=1)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    folder.update(steps=2)
except OSError as error:
    print(error.strerror, folder.status.steps)
"""
    assert run(code, tmp_path) == "File too large 1\n"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.endswith("tmp")) == []


# -- lock -----------------------------------------------------------------------------------------
def test_a_folder_in_use_is_refused_with_the_process_named(tmp_path):
    holder = start(HOLDER, tmp_path)
    try:
        assert holder.stdout.readline() == "ready\n"
        for way in (RunFolder.open, lambda path: RunFolder.create(path, "")):
            with pytest.raises(TrackingError, match=f"in use by process {holder.pid}"):
                way(tmp_path)
        assert RunFolder(tmp_path).owner == holder.pid
        assert RunFolder(tmp_path).status.state == "running"
    finally:
        holder.kill()
        holder.communicate()
    assert (tmp_path / ".lock").read_text() == f"{holder.pid}\n"
    with RunFolder.open(tmp_path) as folder:
        assert folder.owner == os.getpid()


def test_a_stale_lock_is_taken_over_even_if_its_process_id_is_in_use_again(tmp_path):
    RunFolder.create(tmp_path, "").close()
    for pid in (os.getpid(), os.getppid(), 1):
        (tmp_path / ".lock").write_text(f"{pid}\n")
        assert RunFolder(tmp_path).owner is None
        RunFolder.open(tmp_path).close()


def test_the_same_process_cannot_use_a_folder_twice(tmp_path):
    with (
        RunFolder.create(tmp_path, ""),
        pytest.raises(TrackingError, match=f"in use by process {os.getpid()}"),
    ):
        RunFolder.open(tmp_path)
    RunFolder.open(tmp_path).close()


def test_a_forked_child_does_not_keep_the_lock_of_its_dead_parent(tmp_path):
    code = """
import os, sys, time
from rlg.tracking import RunFolder
folder = RunFolder.create(sys.argv[1], "")
if os.fork():
    os._exit(0)
os.close(1), os.close(2)
time.sleep(3)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    RunFolder.open(tmp_path).close()


def test_a_folder_with_a_run_is_not_overwritten(tmp_path):
    RunFolder.create(tmp_path, "first").close()
    with pytest.raises(TrackingError, match="holds a run already"):
        RunFolder.create(tmp_path, "second")
    assert RunFolder(tmp_path).read_config() == "first"
    assert RunFolder(tmp_path).owner is None


def test_other_folders_are_not_opened(tmp_path):
    with pytest.raises(TrackingError, match="no run folder"):
        RunFolder.open(tmp_path)
    with pytest.raises(TrackingError, match="no readable status"):
        _ = RunFolder(tmp_path).status
    assert list(tmp_path.iterdir()) == []


def test_who_only_looks_cannot_change_anything(tmp_path):
    RunFolder.create(tmp_path, "").close()
    with pytest.raises(TrackingError, match="opened to look only"):
        RunFolder(tmp_path).update(steps=1)
